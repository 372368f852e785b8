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
    n_texts, _, _ = found.unit_scores.shape
    n_words = found.beliefs.shape[1]
    level_of = np.repeat(np.arange(1, n_words + 1), np.arange(n_words, 0, -1))
    strength = np.abs(found.unit_scores).max(axis=2)  # (B, cells)
    text, cell = np.nonzero(strength >= LEAST * strength.max(axis=1, keepdims=True))
    scores = found.unit_scores[text, cell].astype(np.float64)
    # The cores of a text as numbers, text after text; among equal ones the strongest unit first.
    key = (text * n_words + found.starts[text, cell]) * (n_words + 1) + found.stops[text, cell]
    order = np.lexsort((-strength[text, cell], key))
    key = key[order]
    firsts = np.flatnonzero(np.diff(key, prepend=-1))
    scores = np.add.reduceat(scores[order], firsts, axis=0)
    rest, stop = np.divmod(key[firsts], n_words + 1)
    text, start = np.divmod(rest, n_words)
    bounds = np.stack([start, stop, level_of[cell[order[firsts]]]], axis=1)

    predicted = found.probabilities.argmax(axis=1)
    order = np.lexsort((-scores[np.arange(len(text)), predicted[text]], text))
    bounds, scores = bounds[order], scores[order]
    ends = np.searchsorted(text, np.arange(n_texts + 1)).tolist()
    return [(bounds[i:j], scores[i:j]) for i, j in pairwise(ends)]
