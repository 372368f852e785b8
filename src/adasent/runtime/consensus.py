"""The mixture p(c) = sum over levels of belief x level prediction, for all texts of a batch.

Levels follow each other text after text; ``firsts`` are the first level of each text.
"""

from __future__ import annotations

import numpy as np

from adasent.runtime.arrays import Doubles, Ints


def beliefs(scores: Doubles, firsts: Ints) -> Doubles:
    """(n_levels,) softmax of the scores over the levels of each text."""
    n_levels = np.diff(firsts, append=len(scores))
    powers: Doubles = np.exp(scores - np.repeat(np.maximum.reduceat(scores, firsts), n_levels))
    powers /= np.repeat(np.add.reduceat(powers, firsts), n_levels)
    return powers


def consensus(beliefs: Doubles, log_probs: Doubles, firsts: Ints) -> Doubles:
    """(C, n) probabilities from beliefs (n_levels,) and level predictions (C, n_levels)."""
    mixed: Doubles = np.add.reduceat(beliefs * np.exp(log_probs), firsts, axis=1)
    return mixed
