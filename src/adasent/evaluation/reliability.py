"""Do stated probabilities come true? Figures and bins.

:func:`adasent.explain.plots.reliability` draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from adasent.data.corpus import Label
from adasent.errors import DataError, require
from adasent.training.calibration import Bin, calibration_error, reliability

#: Least probabilities of a label that the coverage is told for.
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Coverage:
    """What is left if texts whose label is less probable than ``least`` get none."""

    least: float
    n: int  # texts that keep their label
    accuracy: float | None  # of these; None of no texts


@dataclass(frozen=True)
class Reliability:
    """How the probabilities of a model compare with what is true of N texts."""

    n: int
    calibration_error: float  # expected: mean over texts of |confidence - accuracy| of their bin
    confidence: float  # mean probability of the predicted class
    accuracy: float
    log_loss: float | None  # None if some text has a label that the model does not know
    bins: tuple[Bin, ...]  # of equal width, by the probability of the predicted class
    coverage: tuple[Coverage, ...]  # for each of THRESHOLDS

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self)


def judge(
    probabilities: np.ndarray, classes: Sequence[Label], labels: Sequence[Label]
) -> Reliability:
    """Compare (N, C) probabilities with the labels; a label that is no class counts as an error."""
    if probabilities.shape != (len(labels), len(classes)) or not len(labels):
        raise DataError(
            f"expected probabilities of shape ({len(labels)}, {len(classes)}), a row for each "
            f"label and at least one, got shape {probabilities.shape}"
        )
    metrics = require("sklearn.metrics", "train", "judging probabilities")
    code = {label: i for i, label in enumerate(classes)}
    true = np.array([code.get(label, -1) for label in labels])
    right = probabilities.argmax(axis=1) == true
    confidence = probabilities.max(axis=1)
    bins = reliability(confidence, right)
    loss = None
    if (true >= 0).all():
        one_hot = np.eye(len(classes))[true]  # log_loss would sort labels that are no numbers
        loss = float(metrics.log_loss(one_hot, probabilities)) if len(classes) > 1 else 0.0
    mean, accuracy = float(confidence.mean()), float(right.mean())
    coverage = []
    for least in THRESHOLDS:
        kept = confidence >= least
        n_kept = int(kept.sum())
        share = float(right[kept].mean()) if n_kept else None
        coverage.append(Coverage(least, n_kept, share))
    error = calibration_error(bins)
    return Reliability(len(labels), error, mean, accuracy, loss, tuple(bins), tuple(coverage))
