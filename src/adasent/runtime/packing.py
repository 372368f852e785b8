"""Lengths of texts in; which texts go together, and where each of their words lies, out.

A batch is kept position-major, as in :mod:`adasent.pyramid.packed`: texts longest first, and for
each position the rows of the texts that have one. A text of T words has T levels, so the pooled
levels of a batch lie exactly as its words do, with the level in place of the position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adasent.runtime.arrays import Ints

#: Words of a batch, at most: at D = 100 the product of a level then stays in a core's second
#: cache. Longer texts make a batch of their own.
BATCH_WORDS = 800


@dataclass(frozen=True)
class Packing:
    """Where the words of a batch lie.

    Attributes
    ----------
    counts
        (T,) texts that have a word at each position, non-increasing.
    starts
        (T,) first row of each position.
    firsts
        (n,) first word of each text when texts follow each other.
    rows
        (n_words,) row of each word, text after text.
    """

    counts: Ints
    starts: Ints
    firsts: Ints
    rows: Ints

    @classmethod
    def of(cls, lengths: Ints) -> Packing:
        """The layout of texts of these lengths, longest first."""
        counts = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        starts = np.cumsum(counts) - counts
        firsts = np.cumsum(lengths) - lengths
        text = np.repeat(np.arange(len(lengths)), lengths)
        position = np.arange(len(text)) - firsts[text]
        return cls(counts, starts, firsts, starts[position] + text)


def batches(lengths: Ints, max_words: int = BATCH_WORDS) -> list[Ints]:
    """Partition texts into batches of similar length.

    Returns
    -------
    list of index arrays, each longest text first; every text occurs exactly once.
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
