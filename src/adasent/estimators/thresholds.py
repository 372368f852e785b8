"""Thresholds on held-out texts, for models that give a text several labels."""

from __future__ import annotations

from typing import Any

import numpy as np

#: So many held-out texts of a class weigh as much as what all classes have in common. Tried on a
#: dev part of TREC's training texts: 0, 10, 30 and the common threshold alone.
COMMON = 10
#: Without held-out texts.
HALF = 0.5


def fit_thresholds(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(C,) thresholds from (N, C) probabilities of held-out texts and what is true of them.

    That of a class is the one that is best for its F1. Of a few texts it would be chance, so it is
    drawn towards the one that is best for all decisions taken together (micro F1): the mean of both
    log odds, weighted by the texts of the class and by :data:`COMMON`.
    """
    truth = np.asarray(truth, dtype=bool)
    common = best_threshold(probabilities.ravel(), truth.ravel())
    own = np.array([best_threshold(p, t) for p, t in zip(probabilities.T, truth.T, strict=True)])
    n = truth.sum(axis=0)
    odds = (n * _log_odds(own) + COMMON * _log_odds(common)) / (n + COMMON)
    found: np.ndarray = 1 / (1 + np.exp(-odds))
    return found


def _log_odds(share: Any) -> Any:
    inside = np.clip(share, 1e-6, 1 - 1e-6)
    return np.log(inside / (1 - inside))


def best_threshold(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """The threshold of the highest F1, of equally good ones that next to a half.

    It lies midway between two probabilities. If nothing is true, none is better than a half.
    """
    if not truth.any():
        return HALF
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    n_taken = np.arange(1, len(ranked) + 1)
    f1 = 2 * np.cumsum(truth[order]) / (n_taken + truth.sum())
    cuts = (ranked + np.append(ranked[1:], 0.0)) / 2
    f1[ranked == np.append(ranked[1:], -1.0)] = -1.0  # equal ones are taken together
    best = np.flatnonzero(f1 == f1.max())
    return float(cuts[best[np.abs(cuts[best] - HALF).argmin()]])
