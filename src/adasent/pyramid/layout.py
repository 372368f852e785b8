"""Lengths of texts -> which texts make a batch, and where the words, units and levels of one lie.

A batch is kept position-major, as torch's ``PackedSequence`` does it: texts longest first, and for
each position a block of rows, one for every text that has a word there. Level t, counted from 0,
has a unit for every word but the first t of each text, in the order of these words: its rows are
those of the words from position t on. A text of T words has T levels, or as many as the height, if
there is one and it is less: the pooled levels of a batch lie as its first words do, with the level
in place of the position.

This is the one description of that order. The compiled operation of training, prediction and
explanations all take it from here; needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Layout:
    """Where everything about B texts lies; ``lengths`` (B,) are 1 or more, longest first.

    A pyramid has at most ``height`` levels; None: as many as words.
    """

    def __init__(self, lengths: Ints, height: int | None = None) -> None:
        self.lengths = lengths
        #: (B,) levels of each text.
        self.n_levels_of = n_levels(lengths, height)
        #: (T,) texts that have a word at each position, non-increasing.
        self.counts: Ints = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        #: (T + 1,) first row of each position, and the number of words.
        self.starts = _bounds(self.counts)

    @property
    def n_levels(self) -> int:
        """Levels of the longest text."""
        return int(self.n_levels_of[0])

    @property
    def n_words(self) -> int:
        """Words of all texts."""
        return int(self.starts[-1])

    @property
    def n_pooled(self) -> int:
        """Levels of all texts."""
        return int(self.starts[self.n_levels])

    @property
    def n_units(self) -> int:
        """Units on all levels of all texts."""
        return int(self.first_unit[-1])

    def n_units_on(self, t: int) -> int:
        """Units on level t of all texts."""
        return int(self.starts[-1] - self.starts[t])

    def pooled(self, t: int) -> slice:
        """Rows of level t among all pooled levels."""
        return slice(int(self.starts[t]), int(self.starts[t + 1]))

    @cached_property
    def position(self) -> Ints:
        """(n_words,) position of the word in each row."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def text(self) -> Ints:
        """(n_words,) the text that the word in each row is of."""
        found: Ints = np.arange(self.n_words) - np.repeat(self.starts[:-1], self.counts)
        return found

    @cached_property
    def first_word(self) -> Ints:
        """(B + 1,) where each text begins when texts follow each other, and where the last ends."""
        return _bounds(self.lengths)

    @cached_property
    def first_level(self) -> Ints:
        """(B + 1,) the same for the levels of the texts."""
        return _bounds(self.n_levels_of)

    @cached_property
    def first_unit(self) -> Ints:
        """(B + 1,) the same for the units of the texts, level after level."""
        return _bounds(n_units(self.lengths, self.n_levels_of))

    @cached_property
    def word_rows(self) -> Ints:
        """(n_words,) row of each word, text after text."""
        return self._in_order(self.lengths, self.first_word)

    @cached_property
    def level_rows(self) -> Ints:
        """(n_pooled,) row of each pooled level, text after text."""
        return self._in_order(self.n_levels_of, self.first_level)

    def _in_order(self, sizes: Ints, firsts: Ints) -> Ints:
        text = np.repeat(np.arange(len(sizes)), sizes)
        position = np.arange(len(text)) - firsts[text]
        found: Ints = self.starts[position] + text
        return found

    @cached_property
    def level_starts(self) -> Ints:
        """(L,) row of the first unit of each level when levels follow each other."""
        return _bounds(self.n_words - self.starts[: self.n_levels])[:-1]

    @cached_property
    def unit_rows(self) -> Ints:
        """(n_units,) row of each unit, text after text and level after level."""
        parts = []
        for texts in self.of_equal_length():
            levels = range(int(self.n_levels_of[texts[0]]))
            parts.append(np.concatenate([self.rows(texts, t) for t in levels], axis=1).ravel())
        return np.concatenate(parts)

    def of_equal_length(self) -> Iterator[Ints]:
        """Texts that have as many words as each other, which can be worked on together."""
        bounds = np.flatnonzero(np.diff(self.lengths, prepend=0, append=0)).tolist()
        for first, last in pairwise(bounds):
            yield np.arange(first, last)

    def rows(self, texts: Ints, t: int) -> Ints:
        """(m, T - t) rows of the units on level t of m texts of T words, levels one by one."""
        n_words = int(self.lengths[texts[0]])
        shift = self.level_starts[t] - self.starts[t]
        found: Ints = texts[:, None] + (self.starts[t:n_words] + shift)
        return found


def n_levels(lengths: Ints, height: int | None) -> Ints:
    """(B,) levels of pyramids over so many words, none higher than ``height``."""
    return lengths if height is None else np.minimum(lengths, height)


def n_units(lengths: Ints, n_levels: Ints) -> Ints:
    """(B,) units of pyramids over so many words with so many levels."""
    found: Ints = lengths * n_levels - n_levels * (n_levels - 1) // 2
    return found


def left_children(counts: Ints) -> Iterator[tuple[int, int]]:
    """Stretches of rows that have a right neighbour, in order: all but the end of some blocks.

    ``counts`` are the rows of each block of a level.
    """
    starts = np.cumsum(counts) - counts
    shrinks = np.flatnonzero(counts[1:] < counts[:-1])  # blocks whose last rows have none
    firsts = [0, *starts[shrinks + 1].tolist()]
    lasts = [*(starts[shrinks] + counts[shrinks + 1]).tolist(), int(starts[-1])]
    for first, last in zip(firsts, lasts, strict=True):
        if last > first:
            yield first, last


def batches(lengths: Ints, max_words: int) -> list[Ints]:
    """Partition texts into batches of similar length: index arrays, longest text first.

    A batch has at most ``max_words`` words; a longer text makes a batch of its own.
    """
    order = np.argsort(-lengths, kind="stable")
    ends = np.cumsum(lengths[order])
    found, start = [], 0
    while start < len(order):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + max_words, side="right")))
        found.append(order[start:stop])
        start = stop
    return found


def _bounds(sizes: Ints) -> Ints:
    """Where parts of these sizes begin when they follow each other, and where the last ends."""
    bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds
