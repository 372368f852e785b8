"""Ids in, units of the first level out: h^1 = U' U x."""

from __future__ import annotations

import numpy as np

from adasent.runtime.arrays import Floats, Ints
from adasent.saving.word_table import WordTable


class Words:
    """The distinct words of a call, each looked up and projected once.

    Parameters
    ----------
    ids
        (n,) words of the call.
    projection
        U', (D, d).
    matrix
        (D, width) what the units of a level are multiplied with.

    Attributes
    ----------
    ids, units, products
        (m,) the distinct words, (m, D) their units, (m, width) the products of these.
    which
        (n,) which of the distinct words each id is.
    """

    def __init__(self, ids: Ints, table: WordTable, projection: Floats, matrix: Floats) -> None:
        self.ids, self.which = np.unique(ids, return_inverse=True)
        self.units: Floats = table.rows(self.ids) @ projection.T
        self.products: Floats = self.units @ matrix
