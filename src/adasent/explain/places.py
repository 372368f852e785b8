"""Lengths of the texts of a batch in; where each of their units lies, out.

The words of a batch are packed position-major (:mod:`adasent.runtime.packing`). Level t has a unit
for every word but the first t of each text, in the order of these words: its rows are those of the
words from position t on. Levels follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from adasent.runtime.arrays import Ints
from adasent.runtime.packing import Packing
from adasent.text.batch import n_cells


@dataclass(frozen=True)
class Places:
    """Where the units of a batch of B texts lie.

    Attributes
    ----------
    lengths
        (B,) words of each text, longest first.
    counts, starts
        (T,) texts that have a word at each position, and its first row.
    first_word, first_unit
        (B + 1,) where each text begins in ``words`` and in ``units``; last, where all end.
    words
        (n_words,) row of each word, text after text.
    text
        (n_words,) the text that the word in each row is of.
    levels
        (T,) row of the first unit of each level.
    units
        (n_cells,) row of each unit, text after text and level after level.
    level, position
        (n_cells,) level of each unit, counted from 0, and the first word it covers; in the order of
        ``units``.
    """

    lengths: Ints
    counts: Ints
    starts: Ints
    words: Ints
    text: Ints
    levels: Ints
    first_word: Ints
    first_unit: Ints

    @classmethod
    def of(cls, lengths: Ints) -> Places:
        """The places of texts of these lengths, longest first."""
        packing = Packing.of(lengths)
        n_words = len(packing.rows)
        per_level = n_words - packing.starts
        return cls(
            lengths,
            packing.counts,
            packing.starts,
            packing.rows,
            np.arange(n_words) - np.repeat(packing.starts, packing.counts),
            np.cumsum(per_level) - per_level,
            _bounds(lengths),
            _bounds(n_cells(lengths)),
        )

    def of_equal_length(self) -> Iterator[Ints]:
        """Texts that have as many words as each other, which can be worked on together."""
        bounds = np.flatnonzero(np.diff(self.lengths, prepend=0, append=0)).tolist()
        for first, last in pairwise(bounds):
            yield np.arange(first, last)

    def rows(self, texts: Ints, t: int) -> Ints:
        """(m, T - t) rows of the units on level t of m texts of T words."""
        n_words = int(self.lengths[texts[0]])
        found: Ints = texts[:, None] + (self.starts[t:n_words] + (self.levels[t] - self.starts[t]))
        return found

    # Compiled passes count along instead of looking up, so these are often not needed.

    @property
    def units(self) -> Ints:
        """(n_cells,)."""
        return self._by_text[0]

    @property
    def level(self) -> Ints:
        """(n_cells,)."""
        return self._by_text[1]

    @property
    def position(self) -> Ints:
        """(n_cells,)."""
        return self._by_text[2]

    @cached_property
    def _by_text(self) -> tuple[Ints, Ints, Ints]:
        """Row, level and first word of each unit, text after text."""
        # Row after row: the level of a unit, the row of its last word, the first word, the text.
        t = np.repeat(np.arange(len(self.levels)), len(self.words) - self.starts)
        last = np.arange(self.first_unit[-1]) + (self.starts - self.levels)[t]
        j = np.repeat(np.arange(len(self.counts)), self.counts)[last] - t
        owner = self.text[last]
        place = (self.first_unit[:-1][owner] + j) + (t * self.lengths[owner] - t * (t - 1) // 2)
        units, level, position = (np.empty_like(place) for _ in range(3))
        units[place], level[place], position[place] = np.arange(len(place)), t, j
        return units, level, position


def _bounds(sizes: Ints) -> Ints:
    """Where parts of these sizes begin when they follow each other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)])
