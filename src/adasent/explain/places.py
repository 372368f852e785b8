"""Lengths of the texts of a batch in; where each of their units lies, out.

The words of a batch are packed position-major (:mod:`adasent.runtime.packing`). Level t has a unit
for every word but the first t of each text, in the order of these words: its rows are those of the
words from position t on. Levels follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    first_word, first_unit
        (B + 1,) where each text begins in ``words`` and in ``units``; last, where all end.
    """

    lengths: Ints
    counts: Ints
    starts: Ints
    words: Ints
    text: Ints
    levels: Ints
    units: Ints
    level: Ints
    position: Ints
    first_word: Ints
    first_unit: Ints

    @classmethod
    def of(cls, lengths: Ints) -> Places:
        """The places of texts of these lengths, longest first."""
        packing = Packing.of(lengths)
        n_words = len(packing.rows)
        row_position = np.repeat(np.arange(len(packing.counts)), packing.counts)
        text = np.arange(n_words) - packing.starts[row_position]
        per_level = n_words - packing.starts
        levels = np.cumsum(per_level) - per_level
        first_unit = _bounds(n_cells(lengths))
        # Row after row: the level of a unit, the row of its last word, the first word, the text.
        t = np.repeat(np.arange(len(levels)), per_level)
        last = np.arange(first_unit[-1]) + (packing.starts - levels)[t]
        j = row_position[last] - t
        owner = text[last]
        place = (first_unit[:-1][owner] + j) + (t * lengths[owner] - t * (t - 1) // 2)
        units, level, position = (np.empty_like(place) for _ in range(3))
        units[place], level[place], position[place] = np.arange(len(place)), t, j
        return cls(
            lengths,
            packing.counts,
            packing.starts,
            packing.rows,
            text,
            levels,
            units,
            level,
            position,
            _bounds(lengths),
            first_unit,
        )


def _bounds(sizes: Ints) -> Ints:
    """Where parts of these sizes begin when they follow each other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)])
