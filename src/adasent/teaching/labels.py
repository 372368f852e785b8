"""A stream of texts -> the probabilities that teachers give them, asked once and kept on disk.

Texts are labelled in shards. A finished shard is a file of its own, written beside its place and
renamed, so that a killed run asks again for one shard at most.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from adasent.errors import AdaSentWarning, DataError
from adasent.teaching.teacher import Teacher

#: Texts of a shard: some seconds of a large teacher's work.
SHARD = 1024
#: Called with the texts that are labelled, and how many of them a teacher was asked for.
Progress = Callable[[int, int], None]

_NAME = "probabilities"


class Labels(NamedTuple):
    """What the teachers say of N texts."""

    probabilities: np.ndarray  # (N, C) float32; of several teachers the mean
    n_asked: int  # texts that a teacher had to be asked for; the others were known


def label(
    texts: Iterable[str],
    teachers: Sequence[Teacher],
    *,
    probes: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
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
    """
    if not teachers:
        raise DataError("expected at least one teacher, got none")
    places = [
        None if folder is None else Path(folder) / teacher.digest(probes)[:32]
        for teacher in teachers
    ]
    parts = [np.empty((0, len(teachers[0].classes_)), dtype=np.float32)]
    n_done = n_asked = 0
    stream = iter(texts)
    with _one_warning():
        while shard := list(islice(stream, SHARD)):
            said, is_new = [], False
            for teacher, place in zip(teachers, places, strict=True):
                found = None if place is None else _read(place, shard, teacher)
                if found is None:
                    found, is_new = teacher.predict_proba(shard).astype(np.float16), True
                    if place is not None:
                        _write(place, shard, found)
                said.append(found.astype(np.float32))
            mean = np.mean(said, axis=0)
            parts.append(mean if teachers[0].several else mean / mean.sum(axis=1, keepdims=True))
            n_done += len(shard)
            n_asked += len(shard) * is_new
            if progress is not None:
                progress(n_done, n_asked)
    return Labels(np.concatenate(parts), n_asked)


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
