"""The phrases that carried a decision, ranked, from the scores and cores of units.

A unit that copied a word up counts for that word, not for all the words it covers: the units of a
text whose cores are the same words make one phrase, and their scores are summed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from adasent.explain.attribution import Attribution
from adasent.runtime.arrays import Doubles, Ints

#: Units below this part of their text's strongest are left out.
MIN_STRENGTH = 0.03


def ranked_phrases(found: Attribution) -> list[tuple[Ints, Doubles]]:
    """The phrases of each of B texts, those that speak most for the predicted class first.

    Returns
    -------
    For each text (P, 3) first word, word after the last, and level of the strongest unit; and
    (P, C) scores.
    """
    layout, scores = found.layout, found.unit_scores
    lengths, firsts = layout.lengths, layout.first_unit
    strength = np.abs(scores).max(axis=0)  # (n_units,)
    weakest = MIN_STRENGTH * np.maximum.reduceat(strength, firsts[:-1])
    units = (strength >= np.repeat(weakest, firsts[1:] - firsts[:-1])).nonzero()[0]
    text = firsts.searchsorted(units, side="right") - 1
    core = (text * lengths[0] + found.starts[units]) * (lengths[0] + 1) + found.stops[units]
    # Units of one core next to each other, the strongest last: its part is below 1. Of equal
    # ones the highest.
    order = (core + strength[units] / (2 * strength.max() or 1.0)).argsort(kind="stable")
    units, core = units[order], core[order]
    is_first = np.empty(len(core) + 1, dtype=bool)
    is_first[0] = is_first[-1] = True
    np.not_equal(core[1:], core[:-1], out=is_first[1:-1])
    begin = is_first[:-1].nonzero()[0]
    last = is_first[1:]
    strongest, text = units[last], text[order][last]
    sums = np.add.reduceat(scores[:, units], begin, axis=1, dtype=np.float64)  # (C, P)

    predicted = found.probabilities.argmax(axis=1)
    order = np.lexsort((-sums[predicted[text], np.arange(len(text))], text))
    strongest, text = strongest[order], text[order]
    bounds = np.empty((len(text), 3), dtype=np.int64)
    bounds[:, 0], bounds[:, 1] = found.starts[strongest], found.stops[strongest]
    bounds[:, 2] = _level(strongest - firsts[text], lengths[text]) + 1
    ranked = sums.T[order]
    ends = text.searchsorted(np.arange(len(lengths) + 1)).tolist()
    return [(bounds[i:j], ranked[i:j]) for i, j in pairwise(ends)]


def _level(unit: Ints, n_words: Ints) -> Ints:
    """The level, from 0, of units of texts: t n_words - t (t - 1) / 2 lie before level t."""
    side = 2 * n_words + 1
    found: Ints = ((side - np.sqrt(side * side - 8 * unit)) / 2).astype(np.int64)
    return found
