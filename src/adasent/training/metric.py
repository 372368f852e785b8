"""What the best epoch is the best by: one figure of the validation part, and how epochs compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

#: Means over classes, which need to know what was predicted of every text: names in scikit-learn.
_OF_CLASSES = {"macro_f1": "f1_score", "balanced_accuracy": "recall_score"}

#: Columns of the history that exist where their metric was asked for, with their names in words.
EXTRA_COLUMNS = {"valid_macro_f1": "macro F1", "valid_balanced_accuracy": "balanced accuracy"}


def is_of_classes(metric: str) -> bool:
    """Whether the metric is a mean over classes."""
    return metric in _OF_CLASSES


def extra_columns(
    metric: str, targets: np.ndarray, predicted: np.ndarray, weights: np.ndarray
) -> dict[str, float]:
    """What a row of the history says besides loss and accuracy; nothing if these decide.

    Parameters
    ----------
    targets
        (N, C) probabilities; the most probable class of a text is the true one.
    predicted
        (N,) numbers of the predicted classes.
    weights
        (N,) as in the loss.
    """
    if not is_of_classes(metric):
        return {}
    from sklearn import metrics  # which a saved model does without, and the names here do too

    true = targets.argmax(axis=1)
    # Over the classes that there are, as in a report of evaluate.
    value = getattr(metrics, _OF_CLASSES[metric])(
        true,
        predicted,
        labels=np.unique(true),
        average="macro",
        sample_weight=weights,
        zero_division=0,
    )
    return {f"valid_{metric}": float(value)}


def rank(row: Mapping[str, Any], metric: str) -> tuple[float, float]:
    """Larger for a better epoch: by the metric, then by the loss, or of equal loss by accuracy."""
    loss, accuracy = -row["valid_loss"], row["valid_accuracy"]
    if metric == "loss":
        return loss, accuracy
    return row[f"valid_{metric}"], loss
