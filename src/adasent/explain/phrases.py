"""Scores and cores of units in; the phrases that carried the decision, ranked, out.

A unit that copied a word up counts for that word, not for all the words it covers: the units of a
text whose cores are the same words make one phrase, and their scores are summed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from adasent.explain.attribution import Attribution
from adasent.runtime.arrays import Doubles, Ints

#: Units below this part of their text's strongest are left out.
LEAST = 0.03


def ranked_phrases(found: Attribution) -> list[tuple[Ints, Doubles]]:
    """The phrases of each of B texts, those that speak most for the predicted class first.

    Returns
    -------
    For each text (P, 3) first word, word after the last, and level of the strongest unit; and
    (P, C) scores.
    """
    places = found.places
    lengths, firsts = places.lengths, places.first_unit
    strength = np.abs(found.unit_scores).max(axis=0)  # (n_cells,)
    least = LEAST * np.maximum.reduceat(strength, firsts[:-1])
    kept = np.flatnonzero(strength >= np.repeat(least, np.diff(firsts)))
    text = np.searchsorted(firsts, kept, side="right") - 1
    # A number for every core of every text: T x T of them for a text of T words.
    squares = np.cumsum(lengths * lengths)
    before = squares - lengths * lengths
    key = before[text] + found.starts[kept] * lengths[text] + found.stops[kept] - 1
    # Among units of one core the strongest is written last and stays.
    rising = np.argsort(strength[kept])
    strongest = np.full(squares[-1], -1, dtype=np.int64)
    strongest[key[rising]] = kept[rising]
    there = np.flatnonzero(strongest >= 0)
    scores: Doubles = np.stack(
        [np.bincount(key, row[kept], squares[-1])[there] for row in found.unit_scores]
    )

    text = np.searchsorted(squares, there, side="right")
    start, last = np.divmod(there - before[text], lengths[text])
    predicted = found.probabilities.argmax(axis=1)
    order = np.lexsort((-scores[predicted[text], np.arange(len(text))], text))
    level = places.level[strongest[there]]
    bounds = np.stack([start, last + 1, level + 1], axis=1)[order]
    ends = np.searchsorted(text, np.arange(len(lengths) + 1)).tolist()
    ranked: Doubles = scores.T[order]
    return [(bounds[i:j], ranked[i:j]) for i, j in pairwise(ends)]
