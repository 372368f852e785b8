"""What a user passes to ``fit`` -> checked texts, labels and weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from adasent.errors import DataError
from adasent.text.encoder import check_texts


def check_examples(X: Any, y: Any) -> tuple[list[str], np.ndarray]:
    """Texts and as many labels, or an error that says what is wrong with them."""
    texts = check_texts(X)
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    labels = check_labels(y)
    if len(texts) != len(labels):
        raise DataError(f"expected as many labels as texts, got {len(labels)} and {len(texts)}")
    if not texts:
        raise DataError("expected at least one text, got none")
    check_classification_targets(labels)
    return texts, labels


def check_labels(y: Any) -> np.ndarray:
    """(N,) labels of one kind: strings, integers, booleans or whole floats.

    Raises
    ------
    DataError
        For missing labels, mixed types (numpy would turn them all into strings), and kinds that
        a saved model cannot hold.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected",
            DataConversionWarning,
            stacklevel=4,
        )
        labels = y = labels.ravel()
    if labels.ndim != 1:
        raise DataError(f"expected one label a text, got an array of shape {labels.shape}")
    # Of a list, look at what the user wrote: numpy turns ["a", nan] into two strings.
    values = list(y) if isinstance(y, list | tuple) else labels.tolist()
    missing = [i for i, value in enumerate(values) if _is_missing(value)]
    if missing:
        raise DataError(
            f"{len(missing)} labels are missing (None, NaN or inf), the first at position "
            f"{missing[0]}; drop these rows"
        )
    kinds = {type(_plain(value)) for value in values}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"labels are of mixed types ({names}); make them all strings")
    if not kinds <= {str, int, bool, float}:
        raise DataError(
            f"labels must be strings, whole numbers or booleans, got {kinds.pop().__name__}; "
            "turn them into strings"
        )
    if labels.dtype == object:
        return np.array([_plain(v) for v in values], dtype=object if str in kinds else None)
    return labels


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return not np.isfinite(value)
    # pandas marks missing values by objects of its own.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def example_weights(sample_weight: Any, class_weight: Any, labels: np.ndarray) -> np.ndarray:
    """(N,) weight of each text in the loss: its own times that of its class."""
    weights = np.ones(len(labels))
    if sample_weight is not None:
        weights = np.array(sample_weight, dtype=np.float64)
        if weights.ndim == 0:
            weights = np.full(len(labels), float(weights))
        if weights.shape != labels.shape:
            raise DataError(
                f"expected {len(labels)} sample weights, got an array of shape {weights.shape}"
            )
    weights *= compute_sample_weight(class_weight, labels)
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise DataError(
            "sample_weight times class_weight must be finite, not negative and not all zero"
        )
    return weights
