"""A stream of texts -> the probabilities that teachers give them, asked once and kept on disk.

Texts are labelled in shards. A finished shard is a file of its own, written beside its place and
renamed, so that a killed run asks again for one shard at most.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice, tee
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from adasent.errors import AdaSentWarning, DataError
from adasent.teaching.teacher import Teacher

#: Texts of a shard: some seconds of a large teacher's work.
SHARD = 1024
#: Asks a teacher about shards, by whichever processes: probabilities in the order of the shards,
#: which are taken a few ahead of what is done and no more.
Asking = Callable[[Teacher, Iterable[Sequence[str]]], Iterator[np.ndarray]]
#: Called with the texts that are labelled, and how many of them a teacher was asked for.
Progress = Callable[[int, int], None]

_NAME = "probabilities"


class Labels(NamedTuple):
    """What the teachers say of N texts."""

    probabilities: np.ndarray  # (N, C) float32; of several teachers the mean
    n_asked: int  # texts that a teacher had to be asked for; the others were known


def ask_here(teacher: Teacher, shards: Iterable[Sequence[str]]) -> Iterator[np.ndarray]:
    """Ask in this process, a shard after the other."""
    return map(teacher.predict_proba, shards)


def label(
    texts: Iterable[str],
    teachers: Sequence[Teacher],
    *,
    probes: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    asking: Asking = ask_here,
) -> Labels:
    """Ask teachers for the probabilities of texts.

    Probabilities are rounded to half precision, whether they are read or new, so that a run which
    goes on gets the numbers of one that was never stopped.

    Parameters
    ----------
    texts
        Read a shard at a time.
    teachers
        They vote: the mean of what they say counts.
    probes
        Training texts, by which teachers are told apart.
    folder
        Where shards are kept; None keeps none.
    asking
        Who asks the teachers: this process, or others for it.
    """
    if not teachers:
        raise DataError("expected at least one teacher, got none")
    places = [
        None if folder is None else Path(folder) / teacher.digest(probes)[:32]
        for teacher in teachers
    ]
    parts = [np.empty((0, len(teachers[0].classes_)), dtype=np.float32)]
    n_done = n_asked = 0
    with _one_warning():
        # Each teacher has the shards from an iterator of its own, as far ahead as its asking goes.
        streams = tee(iter(partial(_shard, iter(texts)), []), len(teachers) + 1)
        answers = [
            _asked(teacher, place, stream, asking)
            for teacher, place, stream in zip(teachers, places, streams[1:], strict=True)
        ]
        for shard, *found in zip(streams[0], *answers, strict=True):
            mean = np.mean([said for said, _ in found], axis=0)
            parts.append(mean if teachers[0].several else mean / mean.sum(axis=1, keepdims=True))
            n_done += len(shard)
            n_asked += len(shard) * any(is_new for _, is_new in found)
            if progress is not None:
                progress(n_done, n_asked)
    return Labels(np.concatenate(parts), n_asked)


def _shard(stream: Iterator[str]) -> list[str]:
    return list(islice(stream, SHARD))


def _asked(
    teacher: Teacher, place: Path | None, shards: Iterator[list[str]], asking: Asking
) -> Iterator[tuple[np.ndarray, bool]]:
    """What a teacher says of each shard, and whether it had to be asked."""
    waiting: deque[tuple[list[str], np.ndarray | None]] = deque()

    def unknown() -> Iterator[list[str]]:
        for shard in shards:
            found = None if place is None else _read(place, shard, teacher)
            waiting.append((shard, found))
            if found is None:
                yield shard

    for answer in asking(teacher, unknown()):
        shard, known = waiting.popleft()
        while known is not None:
            yield known.astype(np.float32), False
            shard, known = waiting.popleft()
        said = answer.astype(np.float16)
        if place is not None:
            _write(place, shard, said)
        yield said.astype(np.float32), True
    for _, known in waiting:
        assert known is not None
        yield known.astype(np.float32), False


def _read(place: Path, shard: Sequence[str], teacher: Teacher) -> np.ndarray | None:
    """The kept probabilities of a shard; None where there are none, or none to be trusted."""
    try:
        found = safetensors.numpy.load_file(_path(place, shard)).get(_NAME)
    except (OSError, SafetensorError):
        return None
    fits = found is not None and found.shape == (len(shard), len(teacher.classes_))
    if found is None or not fits or found.dtype != np.float16:
        return None
    if teacher.several:
        return found if ((found >= 0) & (found <= 1)).all() else None
    sums = found.sum(axis=1, dtype=np.float32)
    return found if (found >= 0).all() and (np.abs(sums - 1) < 0.1).all() else None


def _write(place: Path, shard: Sequence[str], probabilities: np.ndarray) -> None:
    path = _path(place, shard)
    place.mkdir(parents=True, exist_ok=True)
    # Another process may label the same texts.
    part = path.with_suffix(f".{os.getpid()}.part")
    # It writes memory as it lies.
    safetensors.numpy.save_file({_NAME: np.ascontiguousarray(probabilities)}, part)
    part.replace(path)


def _path(place: Path, shard: Sequence[str]) -> Path:
    digest = hashlib.sha256()
    for text in shard:
        body = text.encode("utf-8", "surrogatepass")
        digest.update(len(body).to_bytes(8) + body)
    return place / f"{digest.hexdigest()[:32]}.safetensors"


@contextmanager
def _one_warning() -> Iterator[None]:
    """One warning for those that a teacher gives shard by shard."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaSentWarning)
        yield
    ours = [one for one in caught if issubclass(one.category, AdaSentWarning)]
    for other in caught:
        if not issubclass(other.category, AdaSentWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if ours:
        warnings.warn(
            f"while labelling, the teacher warned {len(ours)} times; first: {ours[0].message}",
            AdaSentWarning,
            stacklevel=4,
        )
