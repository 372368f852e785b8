"""Calibration: a temperature that makes stated probabilities as likely as can be.

What each level says is the softmax of scores z; the network's answer is their mixture, p(c) = sum
over levels of belief x softmax(z). The scores of every level are divided by one temperature T (Guo
et al. 2017), which minimises the negative log-likelihood of a part that set no weights. A network
without levels has one. Because z comes from a linear layer, 1/T is multiplied into that layer's
weights: nothing that predicts, saves or explains has to know of it.

Expected calibration error: texts are put into bins of equal width by the probability of their
predicted class; the mean over texts of how far the mean probability of a bin is from its share of
right answers (Naeini et al. 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

#: Bins of the expected calibration error.
N_BINS = 15
#: Temperatures that are looked at.
LOWEST, HIGHEST = 0.2, 5.0
#: How far log T is expected to be from 0, as a standard deviation: held against what the texts say,
#: it matters where they are few. Without it, a part of few texts and no error would ask for T = 0.
#: Of 0.25, 0.5, 1 and none it was the best on dev parts of CR and TREC with 20 to 436 texts.
SPREAD = 0.25


class Votes(NamedTuple):
    """What the levels of N texts say, one after another: M levels in all."""

    log_beliefs: np.ndarray  # (M,)
    log_probs: np.ndarray  # (M, C)
    firsts: np.ndarray  # (N,) the first level of each text

    def mixture(self, temperature: float = 1.0) -> np.ndarray:
        """(N, C) probabilities of the texts."""
        scores = self.log_probs / temperature
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores)
        powers *= (np.exp(self.log_beliefs) / powers.sum(axis=1))[:, None]
        mixed: np.ndarray = np.add.reduceat(powers, self.firsts, axis=0)
        mixed /= mixed.sum(axis=1, keepdims=True)
        return mixed


def fit_temperature(votes: Votes, targets: np.ndarray, weights: np.ndarray) -> float:
    """The temperature that is likeliest by targets (N, C) with weights (N,), and by SPREAD."""
    from scipy.optimize import minimize_scalar

    def unlikelihood(log_t: float) -> float:
        loss = log_loss(votes.mixture(float(np.exp(log_t))), targets, weights)
        return loss + (log_t / SPREAD) ** 2 / (2 * len(targets))

    found = minimize_scalar(
        unlikelihood,
        bounds=(np.log(LOWEST), np.log(HIGHEST)),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(np.exp(found.x))


def log_loss(probabilities: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    """Mean negative log-likelihood of target distributions (N, C), weighted by (N,)."""
    logs = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return float(np.average(-(targets * logs).sum(axis=1), weights=weights))


@dataclass(frozen=True)
class Bin:
    """Texts whose predicted class has a probability from ``low`` to ``high``."""

    low: float
    high: float
    n: int
    confidence: float | None  # mean probability of the predicted class; None of no texts
    accuracy: float | None  # share of right answers


def reliability(confidence: np.ndarray, right: np.ndarray, n_bins: int = N_BINS) -> list[Bin]:
    """Texts by the probability of their predicted class (N,), with the share that is right."""
    place = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(place, minlength=n_bins).tolist()
    said = np.bincount(place, confidence, n_bins).tolist()
    hits = np.bincount(place, right, n_bins).tolist()
    return [
        Bin(i / n_bins, (i + 1) / n_bins, n, said[i] / n if n else None, hits[i] / n if n else None)
        for i, n in enumerate(counts)
    ]


def calibration_error(bins: list[Bin]) -> float:
    """Expected calibration error."""
    gaps = [
        one.n * abs(one.confidence - one.accuracy)
        for one in bins
        if one.confidence is not None and one.accuracy is not None
    ]
    return sum(gaps) / sum(one.n for one in bins)


def measure(
    probabilities: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> dict[str, float]:
    """Log loss, expected calibration error and accuracy; the loss is weighted as in training."""
    best = probabilities.argmax(axis=1)
    right = np.take_along_axis(targets, best[:, None], axis=1)[:, 0]  # a share, of soft labels
    return {
        "log_loss": log_loss(probabilities, targets, weights),
        "calibration_error": calibration_error(reliability(probabilities.max(axis=1), right)),
        "accuracy": float(right.mean()),
    }


def skipped(why: str) -> dict[str, Any]:
    """What ``training_`` says of a model that was not calibrated."""
    return {"temperature": None, "why_not": why}
