"""Features on disk by content: a text that an encoder has read before is not read again.

A folder for each encoder, named by its hash and all else that decides the numbers, holds shards:
safetensors files of the vectors of some texts, with the hash of each text and its words. A shard is
written beside and renamed, so a run that is killed leaves whole shards, and the next one goes on
from there. What cannot be read is left alone and computed again. Nothing is ever deleted here; the
folder may be, at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from adasent.text.passage import Passage
from adasent.text.rows import Floats

logger = logging.getLogger(__name__)

#: Words of a shard: at 384 dimensions, 77 MB.
SHARD_WORDS = 50_000

_KEY_BYTES = 32


class _Place(NamedTuple):
    """Where the vectors of a text are."""

    shard: Path
    first: int
    n_words: int


class FeatureCache:
    """Vectors of texts, on disk.

    Parameters
    ----------
    root
        Of all encoders.
    identity
        Everything but the texts that decides the numbers, as JSON values.
    """

    def __init__(self, root: Path, identity: Mapping[str, object]) -> None:
        line = json.dumps(identity, sort_keys=True)
        self.folder = root / hashlib.sha256(line.encode()).hexdigest()[:32]

    def features(
        self,
        passages: Sequence[Passage],
        size: int,
        compute: Callable[[Sequence[Passage]], Floats],
        progress: Callable[[int], None] = lambda n_texts: None,
    ) -> Floats:
        """(n, size) vectors of the words of all texts, end to end.

        Parameters
        ----------
        compute
            Vectors of texts that are not there yet; called for a shard at a time.
        progress
            Told how many texts are done, after each shard.
        """
        keys = [key_of(one) for one in passages]
        known = self._known(size)
        lacking = {key: one for key, one in zip(keys, passages, strict=True) if key not in known}
        n_done = sum(key in known for key in keys)
        progress(n_done)
        for part in _shards(lacking):
            vectors = compute([lacking[key] for key in part])
            known |= self._write(part, [len(lacking[key]) for key in part], vectors)
            n_done += len(part)
            progress(n_done)
        return self._gather([known[key] for key in keys], size)

    def _known(self, size: int) -> dict[bytes, _Place]:
        """Every text that a whole shard has."""
        found: dict[bytes, _Place] = {}
        for path in sorted(self.folder.glob("*.safetensors")):
            try:
                with safe_open(path, "np") as file:
                    keys, lengths = file.get_tensor("keys"), file.get_tensor("lengths")
                    shape = tuple(file.get_slice("vectors").get_shape())
            except (SafetensorError, OSError) as error:
                logger.warning("the shard %s of features cannot be read: %s", path, error)
                continue
            if shape != (int(lengths.sum()), size) or keys.shape != (len(lengths), _KEY_BYTES):
                logger.warning("the shard %s of features is not what it should be", path)
                continue
            found |= _places(path, [bytes(key) for key in keys], lengths.tolist())
        return found

    def _write(self, keys: list[bytes], lengths: list[int], vectors: Floats) -> dict[bytes, _Place]:
        """Add a shard; it is there as a whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:32]
        target = self.folder / f"{name}.safetensors"
        part = self.folder / f"{name}.{os.getpid()}.part"
        tensors: dict[str, np.ndarray] = {
            "vectors": np.ascontiguousarray(vectors, dtype=np.float32),
            "keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, _KEY_BYTES),
            "lengths": np.array(lengths, dtype=np.int64),
        }
        try:
            save_file(tensors, part)
            part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return _places(target, keys, lengths)

    def _gather(self, places: Sequence[_Place], size: int) -> Floats:
        """Read vectors into one array, shard by shard, each mapped into memory."""
        stops = np.cumsum([place.n_words for place in places], dtype=np.int64)
        found = np.empty((int(stops[-1]) if len(stops) else 0, size), dtype=np.float32)
        by_shard: dict[Path, list[int]] = {}
        for i, place in enumerate(places):
            by_shard.setdefault(place.shard, []).append(i)
        for shard, texts in by_shard.items():
            with safe_open(shard, "np") as file:
                vectors = file.get_slice("vectors")
                for i in texts:
                    _, first, n_words = places[i]
                    found[stops[i] - n_words : stops[i]] = vectors[first : first + n_words]
        return found


def key_of(passage: Passage) -> bytes:
    """What decides the vectors of a text: its characters, and which of them are words."""
    text = passage.text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(b"%d\n" % len(text) + text)
    digest.update(np.array(passage.offsets, dtype=np.int64).tobytes())
    return digest.digest()


def _places(path: Path, keys: Sequence[bytes], lengths: Sequence[int]) -> dict[bytes, _Place]:
    first, found = 0, {}
    for key, n_words in zip(keys, lengths, strict=True):
        found[key] = _Place(path, first, n_words)
        first += n_words
    return found


def _shards(passages: Mapping[bytes, Passage]) -> Iterator[list[bytes]]:
    """Texts in parts of about :data:`SHARD_WORDS` words."""
    part: list[bytes] = []
    n_words = 0
    for key, passage in passages.items():
        part.append(key)
        n_words += len(passage)
        if n_words >= SHARD_WORDS:
            yield part
            part, n_words = [], 0
    if part:
        yield part
