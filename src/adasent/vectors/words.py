"""Word vectors, of a file or of gensim, as a matrix aligned with a vocabulary."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adasent.errors import VectorsError
from adasent.text.vocabulary import SPECIALS, Vocabulary
from adasent.vectors.files import read_table, write_table

#: Standard deviation of the values that a word without a vector starts from.
NEW_WORD_SPREAD = 0.1


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Distinct words, and a row of numbers for each."""

    words: list[str]  # in the order of the file: by custom, the most frequent first
    matrix: NDArray[np.float32]  # (n, d), finite
    name: str = "given"  # for reports: of the file or the registered set
    source: str | None = None  # digest of what they come from; None: of the words and numbers

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, dtype=np.float32)
        if matrix.ndim != 2 or len(matrix) != len(self.words) or 0 in matrix.shape:
            raise VectorsError(
                f"word vectors: expected a matrix of shape ({len(self.words)}, d), one row for "
                f"each word, got {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise VectorsError("word vectors: expected finite numbers, got NaN or infinity")
        object.__setattr__(self, "matrix", matrix)
        if len(self.index) != len(self.words):
            n_repeated = len(self.words) - len(self.index)
            raise VectorsError(
                f"word vectors: expected distinct words, got {n_repeated} repeated; drop them"
            )

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return int(self.matrix.shape[1])

    @cached_property
    def sha256(self) -> str:
        """What tells these vectors from others in a record."""
        if self.source is not None:
            return self.source
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.matrix).tobytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        """The vector of a word, shape (d,); KeyError where it has none."""
        row: NDArray[np.float32] = self.matrix[self.index[word]]
        return row

    def __deepcopy__(self, memo: dict[int, Any]) -> WordVectors:
        """Itself: nothing here changes, and a grid search would copy the matrix for every fit."""
        return self

    def __repr__(self) -> str:
        return f"WordVectors({len(self)} words x {self.dim})"


def read_vectors(path: str | os.PathLike[str], *, limit: int | None = None) -> WordVectors:
    """Read word2vec binary or text, or GloVe text, plain or gzipped; the first ``limit`` words.

    The format is found from the content. Of a repeated word the first vector counts, and one
    `AdaSentWarning` says how many were skipped. Bytes that are not UTF-8 become surrogate escapes.
    """
    return WordVectors(*read_table(Path(path), limit=limit), name=Path(path).name)


def write_vectors(path: str | os.PathLike[str], vectors: WordVectors) -> None:
    """Write word2vec binary, gzipped if the name ends in ``.gz``; the file appears whole or not."""
    write_table(Path(path), vectors.words, vectors.matrix)


def as_vectors(source: Any) -> WordVectors:
    """Word vectors from a path, from themselves, or from gensim's ``KeyedVectors`` or model."""
    if isinstance(source, WordVectors):
        return source
    if isinstance(source, str | os.PathLike):
        return read_vectors(source)
    keyed = getattr(source, "wv", source)
    if hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors"):
        return WordVectors([str(word) for word in keyed.index_to_key], keyed.vectors)
    raise VectorsError(
        f"vectors: expected a path, WordVectors or gensim KeyedVectors, got {type(source).__name__}"
    )


@dataclass(frozen=True)
class Coverage:
    """How much of some text has a vector, counted in distinct words and in running words."""

    n_types: int
    n_types_found: int
    n_tokens: int
    n_tokens_found: int
    missing: tuple[str, ...]

    @property
    def type_share(self) -> float:
        """Share of the distinct words that have a vector, 0 where there are none."""
        return self.n_types_found / self.n_types if self.n_types else 0.0

    @property
    def token_share(self) -> float:
        """Share of the running words that have a vector, 0 where there are none."""
        return self.n_tokens_found / self.n_tokens if self.n_tokens else 0.0

    def __str__(self) -> str:
        text = (
            f"{self.token_share:.1%} of {self.n_tokens:,} tokens, "
            f"{self.type_share:.1%} of {self.n_types:,} distinct words"
        )
        return f"{text}; most frequent missing: {' '.join(self.missing)}" if self.missing else text


def coverage(
    vectors: WordVectors | Sequence[WordVectors],
    counts: Mapping[str, int],
    *,
    n_missing: int = 10,
) -> Coverage:
    """Which share of words, counted in text, has a vector in at least one of the sets.

    Names ``n_missing`` of the missing words, most frequent first.
    """
    sets = _as_sequence(vectors)
    missing = [word for word in counts if not any(word in one for one in sets)]
    missing.sort(key=lambda word: (-counts[word], word))
    n_tokens = sum(counts.values())
    return Coverage(
        n_types=len(counts),
        n_types_found=len(counts) - len(missing),
        n_tokens=n_tokens,
        n_tokens_found=n_tokens - sum(counts[word] for word in missing),
        missing=tuple(missing[:n_missing]),
    )


def align(
    vectors: WordVectors | Sequence[WordVectors], vocabulary: Vocabulary, *, seed: int
) -> NDArray[np.float32]:
    """A row for each word of the vocabulary, the vectors of all sets side by side.

    Each set is scaled by one number, so that its entries have standard deviation 1 over the words
    of the training texts: sets differ tenfold in scale, and the network learns best at this one.
    Words beyond the training texts have no say in it: how many of them a model knows does not
    change what it learns. A word that some sets lack has zeros in their columns. A word that all
    lack gets small random values: of full size, a full stop without a vector would outshout the
    words around it. Padding and unknown are zeros: unknown is also what word dropout and unseen
    words use.
    """
    sets = _as_sequence(vectors)
    if not sets:
        raise VectorsError("align: expected at least one set of word vectors, got none")
    matrix = np.zeros((len(vocabulary), sum(one.dim for one in sets)), dtype=np.float32)
    found = np.zeros(len(vocabulary), dtype=bool)
    found[: len(SPECIALS)] = True
    column = 0
    for one in sets:
        pairs = [
            (row, one.index[word])
            for row, word in enumerate(vocabulary.words)
            if row >= len(SPECIALS) and word in one.index
        ]
        if pairs:
            rows, sources = np.array(pairs).T
            block = one.matrix[sources]
            matrix[rows, column : column + one.dim] = block / _spread(block, rows, vocabulary)
            found[rows] = True
        column += one.dim
    shape = (int((~found).sum()), matrix.shape[1])
    noise = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    matrix[~found] = NEW_WORD_SPREAD * noise
    return matrix


def scale_of(vectors: WordVectors, vocabulary: Vocabulary) -> float:
    """What :func:`align` divides a set by."""
    pairs = [
        (row, vectors.index[word])
        for row, word in enumerate(vocabulary.words)
        if row >= len(SPECIALS) and word in vectors.index
    ]
    if not pairs:
        return 1.0
    rows, sources = np.array(pairs).T
    return _spread(vectors.matrix[sources], rows, vocabulary)


def _spread(block: NDArray[np.float32], rows: NDArray[np.int64], vocabulary: Vocabulary) -> float:
    """Standard deviation of vectors (n, d) over the words of the training texts, if it has any."""
    known = block[rows < vocabulary.n_training]
    return max(float((known if len(known) else block).std()), 1e-6)


def frequent_words(vectors: WordVectors | Sequence[WordVectors], n: int) -> list[str]:
    """The ``n`` most frequent words by file order; several sets take turns, rank by rank."""
    ranked: dict[str, None] = {}
    for same_rank in zip_longest(*(one.words for one in _as_sequence(vectors))):
        if len(ranked) >= n:
            break
        ranked.update(dict.fromkeys(word for word in same_rank if word is not None))
    return list(ranked)[: max(n, 0)]


def _as_sequence(vectors: WordVectors | Sequence[WordVectors]) -> Sequence[WordVectors]:
    return [vectors] if isinstance(vectors, WordVectors) else vectors
