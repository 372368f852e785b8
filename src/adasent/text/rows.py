"""Texts as rows of a table of word vectors: what a network is given of them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


class VectorTable(Protocol):
    """Word vectors by row."""

    def __len__(self) -> int: ...

    def rows(self, ids: Ints) -> Floats:
        """(n, d) vectors of some rows."""


class WordRows(NamedTuple):
    """The words of texts as rows of a table."""

    ids: list[Ints]  # for each text (T,), never empty
    #: None: the table is the network's own, trained with it and saved in it.
    table: VectorTable | None
