"""Parts of getting texts ready for a network: word vectors, the first word table, unknown words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adasent.data.derived import vector_file, vector_names
from adasent.errors import DataError
from adasent.text.cutting import Cut
from adasent.text.encoder import TextEncoder
from adasent.text.vocabulary import SPECIALS, Vocabulary
from adasent.training.examples import Examples
from adasent.vectors.words import NEW_WORD_SPREAD, WordVectors, align, as_vectors

VectorSource = str | os.PathLike[str] | WordVectors | Any


class Unseen(NamedTuple):
    """Words of the validation texts: what the model will meet in texts it was not trained on."""

    n_words: int
    n_unknown: int  # to the model
    n_left_out: int  # of these, the pre-trained vectors have them: more extra words would help


class Encoded(NamedTuple):
    """Texts ready for a network of any shape."""

    training: Examples
    validation: Examples | None
    table: np.ndarray  # (V, d) initial word vectors
    classes: np.ndarray
    encoder: TextEncoder
    seed: int
    n_texts: int
    unseen: Unseen | None
    cut: Cut


def read_sources(vectors: Any) -> list[WordVectors]:
    """The vectors setting -> word vectors in memory."""
    if vectors is None:
        return []
    many = vectors if isinstance(vectors, list | tuple) else [vectors]
    sources = []
    for one in many:
        if isinstance(one, str) and not Path(one).exists() and one in vector_names():
            one = vector_file(one)
        sources.append(as_vectors(one))
    return sources


def positions_in(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Where labels of a validation part stand among the classes of the training part."""
    unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise DataError(
            f"validation labels {unknown[:3]!r} do not occur in training; "
            f"expected one of {classes.tolist()!r}"
        )
    return np.searchsorted(classes, labels)


def count_unseen(
    tokens: Sequence[Sequence[str]], vocabulary: Vocabulary, sources: Sequence[WordVectors]
) -> Unseen:
    words = [word for row in tokens for word in row]
    unknown = [word for word in words if word not in vocabulary]
    left_out = sum(any(word in source for source in sources) for word in unknown)
    return Unseen(len(words), len(unknown), left_out)


def first_table(
    sources: list[WordVectors], vocabulary: Vocabulary, size: int, seed: int
) -> np.ndarray:
    """(V, d) initial word table."""
    if sources:
        return align(sources, vocabulary, seed=seed)
    table = np.random.default_rng(seed).normal(0.0, NEW_WORD_SPREAD, (len(vocabulary), size))
    table[: len(SPECIALS)] = 0.0
    return table.astype(np.float32)
