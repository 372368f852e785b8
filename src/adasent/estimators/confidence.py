"""Labels only where a model is sure enough of them; needs numpy alone."""

from __future__ import annotations

import numpy as np

from adasent.checks import check_range
from adasent.errors import ConfigError
from adasent.runtime.answers import Thresholds, labels_of


def choose_labels(
    probabilities: np.ndarray,
    classes: np.ndarray,
    own: np.ndarray | None,
    thresholds: Thresholds | None,
    min_confidence: float | None,
) -> np.ndarray:
    """What ``predict`` returns: :func:`labels_of`, or with a least probability :func:`sure_labels`.

    ``own`` are the thresholds of a model that gives a text several labels.
    """
    if min_confidence is None:
        return labels_of(probabilities, classes, own, thresholds)
    if own is not None:
        raise ConfigError("min_confidence: a text may have several labels; use thresholds")
    return sure_labels(probabilities, classes, min_confidence)


def sure_labels(
    probabilities: np.ndarray, classes: np.ndarray, min_confidence: float
) -> np.ndarray:
    """The most probable label of each text, or None where its probability is below the least.

    Parameters
    ----------
    probabilities
        (N, C), as ``predict_proba`` gives them.
    classes
        (C,) labels of the columns.
    min_confidence
        From 0, which labels all texts, to 1.

    Returns
    -------
    (N,) array of objects.
    """
    check_range("min_confidence", min_confidence, 0, 1)
    values = np.array(classes.tolist(), dtype=object)
    labels: np.ndarray = values[probabilities.argmax(axis=1)]
    labels[probabilities.max(axis=1) < min_confidence] = None
    return labels
