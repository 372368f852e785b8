"""Short phrases that a model has met before are looked up rather than composed again.

A unit depends on the words of its phrase alone. So equal phrases are composed once in a batch, and
once in all batches as far as the cache reaches. What comes out is what plain composition gives, to
the last bits of float32. ``docs/runtime.md`` says what it saves, and why it is off by default.
"""

from __future__ import annotations

from itertools import repeat
from types import ModuleType
from typing import NamedTuple

import numpy as np

from adasent.runtime.arrays import Floats, Ints
from adasent.runtime.cells import left_children
from adasent.runtime.pyramid import (
    Composition,
    Level,
    Scratch,
    build_level,
    pool_level,
    pool_levels,
)

#: Words of a shared phrase, at most. Longer ones hardly ever repeat.
LONGEST = 4


class Phrases(NamedTuple):
    """The distinct phrases of one level of a batch."""

    units: Floats  # (m, D)
    ids: Ints  # (m,) number of the phrase; of a word, its id
    last: Ints  # (m,) id of the last word


class PhraseCache:
    """The units of phrases of 2 to ``LONGEST`` words, for one network.

    Phrases are kept in two halves. When the younger half is full it becomes the older one, whose
    phrases are forgotten unless they are used again meanwhile: the last ``capacity / 2`` distinct
    phrases used are always there.

    Parameters
    ----------
    capacity
        Phrases kept, at most; each takes 4 D bytes and about 100 more.
    n_words
        Size of the vocabulary.

    Attributes
    ----------
    n_asked, n_composed
        Cells of short phrases that were needed so far, and those that had to be composed.
    """

    def __init__(self, capacity: int, composition: Composition, n_words: int) -> None:
        self.composition = composition
        self.n_words = n_words
        self.n_asked = self.n_composed = 0
        self._half = capacity // 2
        self._units = np.empty((2 * self._half, len(composition.matrix)), dtype=np.float32)
        self._ids = np.empty(2 * self._half, dtype=np.int64)
        self._young: dict[int, int] = {}  # key -> row
        self._old: dict[int, int] = {}
        self._start = 0  # first row of the younger half
        self._next_id = n_words

    def climb(
        self,
        words: Phrases,
        which: Ints,
        counts: Ints,
        levels: Floats,
        scratch: Scratch,
        cells: ModuleType | None,
    ) -> None:
        """Fill the pooled levels of a batch, as :func:`~adasent.runtime.pyramid.pool_levels` does.

        Parameters
        ----------
        words
            The distinct words.
        which
            (n_words,) which of them each word of the batch is, position-major.
        """
        phrases, row = words, 0
        n_steps = min(LONGEST, len(counts)) - 1
        for t in range(n_steps):
            below, n = counts[t:], int(counts[t])
            pool_level(phrases.units[which], below, levels[row : row + n], self.composition, cells)
            row += n
            stretches = [np.arange(first, last) for first, last in left_children(below)]
            left, right = which[np.concatenate(stretches)], which[n:]
            pairs, which = np.unique(left * len(phrases.ids) + right, return_inverse=True)
            self.n_asked += len(which)
            phrases = self._above(phrases, *np.divmod(pairs, len(phrases.ids)), cells)
        # What lies above is a pyramid over the longest of these phrases.
        units = phrases.units[which]
        product = units @ self.composition.matrix
        rest = counts[n_steps:]
        pool_levels(units, product, rest, self.composition, levels[row:], scratch, cells)

    def _above(self, below: Phrases, left: Ints, right: Ints, cells: ModuleType | None) -> Phrases:
        """The distinct phrases made of these pairs of distinct phrases."""
        last = below.last[right]
        keys = (below.ids[left] * self.n_words + last).tolist()
        # map and zip rather than a loop: this is done for every distinct phrase.
        in_old = map(self._old.get, keys, repeat(-1))
        rows = np.fromiter(map(self._young.get, keys, in_old), dtype=np.int64, count=len(keys))
        units, ids = self._units[rows], self._ids[rows]
        new = np.flatnonzero(rows < 0)
        if len(new):
            units[new] = self._compose(below, left[new], right[new], cells)
        ids[new] = np.arange(self._next_id, self._next_id + len(new))
        self._next_id += len(new)
        self.n_composed += len(new)
        self._keep(keys, rows, units, ids)
        return Phrases(units, ids, last)

    def _compose(self, below: Phrases, left: Ints, right: Ints, cells: ModuleType | None) -> Floats:
        # All left children as one block, all right ones as the next: pyramids of two words.
        needed, which = np.unique(np.concatenate([left, right]), return_inverse=True)
        children = below.units[needed]
        product = children @ self.composition.matrix
        n = len(left)
        above = Level(np.empty((n, children.shape[1]), np.float32), np.empty((n, 3), np.float32))
        build_level(
            children[which],
            product[which],
            np.array([n, n]),
            above,
            np.empty_like(above.units),
            self.composition,
            cells,
        )
        return above.units

    def _keep(self, keys: list[int], rows: Ints, units: Floats, ids: Ints) -> None:
        """Put what is not in the younger half there."""
        in_young = (rows >= self._start) & (rows < self._start + self._half)
        moved = np.flatnonzero(~in_young)[: self._half]
        if len(self._young) + len(moved) > self._half:
            self._old, self._young = self._young, {}
            self._start = self._half - self._start
        first = self._start + len(self._young)
        self._units[first : first + len(moved)] = units[moved]
        self._ids[first : first + len(moved)] = ids[moved]
        rows_of = range(first, first + len(moved))
        self._young.update(zip(map(keys.__getitem__, moved.tolist()), rows_of, strict=True))
