"""What each unit of a pyramid says by itself, and what it adds to the answer through its level.

A level is pooled from its units, and what it adds is belief times what its vote has beyond no word.
A unit's part of that is what its own vote has beyond no word, by its share in the pooling. Votes
are no mean of votes, so these parts sum to something else than the level adds; the difference is
shared out by their sizes. So the units of a level sum to the level, and the levels to the text.
"""

from __future__ import annotations

import numpy as np

from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Doubles, Floats
from adasent.runtime.climb import Pyramids
from adasent.runtime.head import LevelHead

#: Units classified at a time; so many fit in a cache.
CHUNK_UNITS = 512

#: Units so close below a maximum own a part of it. Copies of one word are that close, and which of
#: them is the largest would be decided by rounding.
TIE_MARGIN = np.float32(0.1)


def unit_votes(head: LevelHead, units: Floats) -> Doubles:
    """(n, D) -> (C, n) probabilities of the classes by each unit alone."""
    found = np.empty((len(head.tensors["classifier.out.weight"]), len(units)))
    for first in range(0, len(units), CHUNK_UNITS):
        here = slice(first, first + CHUNK_UNITS)
        np.exp(head.log_probs(head.normalise(units[here])), out=found[:, here])
    return found


def pooled_shares(pyramids: Pyramids, layout: Layout, *, maximum: bool) -> Floats:
    """(n_units,) how much of its pooled level each unit is, text after text; a level's sum to 1.

    Parameters
    ----------
    maximum
        Whether levels are pooled by maximum: a unit then owns the dimensions that are its.
    """
    found = np.empty(layout.n_units, dtype=np.float32)
    for texts in layout.of_equal_length():
        own = found[layout.first_unit[texts[0]] : layout.first_unit[texts[-1] + 1]]
        by_text = own.reshape(len(texts), -1)
        n_words, done = int(layout.lengths[texts[0]]), 0
        for t in range(int(layout.n_levels_of[texts[0]])):
            here = by_text[:, done : done + n_words - t]
            done += n_words - t
            if not maximum:
                here[:] = 1 / here.shape[1]
                continue
            units = pyramids.units.take(layout.rows(texts, t), axis=0)  # (m, T - t, D)
            pooled = pyramids.levels[layout.starts[t] + texts, None]
            owned = np.maximum(units - (pooled - TIE_MARGIN), 0.0)
            here[:] = (owned / owned.sum(axis=1, keepdims=True)).mean(axis=2)
    return found


def unit_scores(
    votes: Doubles, shares: Floats, level_scores: Doubles, beliefs: Doubles, base: Doubles
) -> Doubles:
    """(units, C) what each unit of a text adds, level after level; the units of a level sum to it.

    Parameters
    ----------
    votes, shares
        (units, C) and (units,), of the units of one text.
    level_scores, beliefs, base
        (L, C) what each level adds, (L,) how much it is believed, and (C,) what is said of no word.
    """
    n_levels = len(beliefs)
    n_words = (len(votes) + n_levels * (n_levels - 1) // 2) // n_levels
    n_units = n_words - np.arange(n_levels)
    firsts = np.cumsum(n_units) - n_units
    scores: Doubles = (votes - base) * (shares * np.repeat(beliefs, n_units))[:, None]
    sizes = np.abs(scores).sum(axis=1)
    totals = np.repeat(np.maximum(np.add.reduceat(sizes, firsts), 1e-12), n_units)
    missing = level_scores - np.add.reduceat(scores, firsts, axis=0)
    scores += (sizes / totals)[:, None] * np.repeat(missing, n_units, axis=0)
    return scores
