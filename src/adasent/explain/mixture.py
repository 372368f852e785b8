"""Pooled levels of texts in; the mixture over them, with its parts, out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.consensus import beliefs, consensus
from adasent.runtime.levels import LevelHead
from adasent.runtime.network import normalised

#: What the levels contribute sums to the probabilities within this.
SAME = 1e-6


class Mixture(NamedTuple):
    """p(class) = sum over levels of belief x vote, for n levels of B texts.

    Beliefs and probabilities are text after text; the rest lies as the levels that were passed in.
    """

    taken: Floats  # (n, D) levels as the head takes them
    hidden: Floats | None  # (n, H) what its classifier rectifies, if it does
    beliefs: Doubles  # (n,)
    votes: Doubles  # (C, n)
    probabilities: Doubles  # (B, C)


def mix(head: LevelHead, levels: Floats, rows: Ints, firsts: Ints) -> Mixture:
    """Classify texts by their levels.

    Parameters
    ----------
    levels
        (n, D) pooled.
    rows, firsts
        (n,) the row of each level, text after text, and (B,) which of them is a text's first.
    """
    taken = head.normalise(levels)
    belief = beliefs(head.scores(taken)[rows], firsts)
    hidden = head.hidden(taken)
    log_votes = head.vote(taken if hidden is None else np.maximum(hidden, 0.0))
    mixed = consensus(belief, log_votes[:, rows], firsts)
    probabilities = normalised(mixed.T)
    assert np.abs(probabilities - mixed.T).max() < SAME, "levels do not sum to the probabilities"
    return Mixture(taken, hidden, belief, np.exp(log_votes), probabilities)
