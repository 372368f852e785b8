"""What ``fit`` takes where a text may have several labels: lists, or a matrix of 0 and 1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from adasent.data.splits import rarest_labels
from adasent.errors import AdaSentWarning, ConfigError, DataError
from adasent.estimators.base import Targeted, check_labels, example_weights, is_missing
from adasent.estimators.thresholds import HALF
from adasent.text.encoder import check_texts

_LISTS = (list, tuple, set, frozenset, np.ndarray)


def are_lists(y: Any) -> bool:
    """Whether some text has a list of labels; a matrix is none."""
    if getattr(y, "ndim", 1) != 1 or isinstance(y, str):
        return False
    try:
        return any(isinstance(one, _LISTS) for one in y)
    except TypeError:
        return False


def check_lists(X: Any, y: Any, sample_weight: Any, class_weight: Any) -> Targeted:
    """Texts with a list of labels each, checked; texts without a weight are left out."""
    texts = check_texts(X)
    lists = read_lists(y)
    if len(texts) != len(lists):
        raise DataError(f"expected as many labels as texts, got {len(lists)} and {len(texts)}")
    _refuse_matrix(lists)
    flat = check_labels([label for one in lists for label in one])
    if not len(flat):
        raise DataError("expected at least one label, got an empty list for every text")
    classes = np.unique(flat)
    return several(texts, indicator(lists, classes), classes, sample_weight, class_weight)


def several(
    texts: list[str],
    said: np.ndarray,
    classes: np.ndarray,
    sample_weight: Any,
    class_weight: Any,
) -> Targeted:
    """Texts of which (N, C) says which classes each has; see :func:`check_lists`.

    It may say how probable each is: from a half on a text counts as one that has the class.
    """
    if class_weight is not None:
        raise ConfigError(
            "class_weight: a text that has several labels belongs to no one class; leave it out, "
            "and weigh texts with sample_weight"
        )
    weights = example_weights(sample_weight, None, np.zeros(len(texts)))
    used = np.flatnonzero(weights)
    said = said[used]
    there = said >= HALF
    never = classes[~(said > 0).any(axis=0)].tolist()
    if never:
        warnings.warn(
            f"of no training text: {', '.join(map(repr, never[:5]))}"
            f"{f' and {len(never) - 5} more classes' if len(never) > 5 else ''}; the model learns "
            "that no text has them",
            AdaSentWarning,
            stacklevel=5,
        )
    return Targeted(
        [texts[i] for i in used],
        rarest_labels(there),
        yes_and_no(said),
        weights[used],
        classes,
        multilabel=True,
    )


def read_lists(y: Any) -> list[list[Any]]:
    """A list of labels of each text, or an error that says which text has none."""
    values = list(y)
    single = [i for i, one in enumerate(values) if not isinstance(one, _LISTS)]
    if single:
        one = values[single[0]]
        what = "nothing (None or NaN)" if is_missing(one) else f"the single label {one!r}"
        raise DataError(
            f"expected a list of labels for every text, as {len(values) - len(single)} of "
            f"{len(values)} have, got {what} at position {single[0]}; write [label], or [] for none"
        )
    found = [list(one) for one in values]
    for i, labels in enumerate(found):
        nested = next((label for label in labels if isinstance(label, _LISTS)), None)
        if nested is not None or any(map(is_missing, labels)):
            what = "a missing label" if nested is None else f"a list inside of a list, {nested!r},"
            raise DataError(f"expected a list of labels for every text, got {what} at position {i}")
    return found


def _refuse_matrix(lists: Sequence[Sequence[Any]]) -> None:
    """Rows of a matrix of probabilities, or of 0 and 1, are no lists of labels."""
    values = {label for one in lists for label in one if isinstance(label, int | float)}
    is_table = len({len(one) for one in lists}) == 1 and len(lists[0]) > 1
    if any(value != int(value) for value in values) or (is_table and values and values <= {0, 1}):
        raise DataError(
            f"expected lists of labels, got numbers such as {list(lists[0])[:5]}; a matrix of "
            "probabilities, or of 0 and 1, is taken if classes=... says what the columns stand for"
        )


def indicator(lists: Sequence[Sequence[Any]], classes: np.ndarray) -> np.ndarray:
    """(N, C) whether a text has a class; all labels are among the classes."""
    there = np.zeros((len(lists), len(classes)), dtype=bool)
    for row, labels in zip(there, lists, strict=True):
        row[np.searchsorted(classes, np.array(labels, dtype=classes.dtype))] = True
    return there


def yes_and_no(said: np.ndarray) -> np.ndarray:
    """(N, C) whether, or how probably, a text has a class -> (N, 2 C) targets of yes and of no."""
    yes = np.asarray(said, dtype=np.float32)
    return np.concatenate([yes, 1 - yes], axis=1)
