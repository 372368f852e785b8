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

    @cached_property
    def units(self) -> Ints:
        """(n_cells,); found when it is asked for, as compiled passes count along instead."""
        parts = []
        for texts in self.of_equal_length():
            levels = range(int(self.lengths[texts[0]]))
            parts.append(np.concatenate([self.rows(texts, t) for t in levels], axis=1).ravel())
        return np.concatenate(parts)


def _bounds(sizes: Ints) -> Ints:
    """Where parts of these sizes begin when they follow each other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)])
