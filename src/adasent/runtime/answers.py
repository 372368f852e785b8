"""From probabilities to labels: the most probable one, or all that reach their thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from adasent.errors import ConfigError, DataError
from adasent.runtime.arrays import Doubles

#: What ``predict`` takes: one threshold for all classes, one of some labels, or one of each class.
Thresholds: TypeAlias = float | Mapping[Any, float] | Sequence[float] | np.ndarray


def labels_of(
    probabilities: Doubles,
    classes: np.ndarray,
    own: Doubles | None,
    chosen: Thresholds | None = None,
) -> np.ndarray:
    """(N, C) probabilities -> (N,) labels, or (N,) tuples of labels where a text may have several.

    Parameters
    ----------
    own
        (C,) thresholds of the model; None says that a text has one label.
    chosen
        Thresholds to use in their place.
    """
    if own is None:
        if chosen is not None:
            raise ConfigError(
                "thresholds: this model gives a text one label, the most probable; leave them out"
            )
        labels: np.ndarray = classes[probabilities.argmax(axis=1)]
        return labels
    found = np.empty(len(probabilities), dtype=object)
    names = classes.tolist()
    for i, row in enumerate(probabilities >= read_thresholds(chosen, names, own)):
        found[i] = tuple(names[c] for c in np.flatnonzero(row))
    return found


def read_thresholds(chosen: Thresholds | None, names: Sequence[Any], own: Doubles) -> Doubles:
    """(C,) thresholds: the model's own where the user has chosen none."""
    if chosen is None:
        return own
    found = own.copy()
    if isinstance(chosen, Mapping):
        for label, value in chosen.items():
            if label not in names:
                known = ", ".join(map(repr, names[:10]))
                raise ConfigError(
                    f"thresholds: expected labels of the model ({known}), got {label!r}"
                )
            found[names.index(label)] = value
    else:
        given = np.asarray(chosen, dtype=np.float64)
        if given.shape not in ((), found.shape):
            raise ConfigError(
                f"thresholds: expected one number, one for each of {len(names)} classes, or a "
                f"mapping from label to number; got shape {given.shape}"
            )
        found[:] = given
    if not ((found >= 0) & (found <= 1)).all():
        raise ConfigError(f"thresholds must be from 0 to 1; got {found.tolist()}")
    return found


def exactly_right(found: np.ndarray, expected: Any, classes: np.ndarray) -> np.ndarray:
    """(N,) whether each text has all its labels and no other.

    ``expected`` has a list of labels for each text, in any order, or is an (N, C) matrix of 0 and
    1.
    """
    if isinstance(expected, np.ndarray) and expected.ndim == 2:
        names = classes.tolist()
        if expected.shape[1] != len(names):
            raise DataError(
                f"expected a column for each of {len(names)} classes, got {expected.shape[1]}"
            )
        expected = [[names[c] for c in np.flatnonzero(row)] for row in expected]
    expected = list(expected)
    if len(found) != len(expected) or not len(found):
        raise DataError(
            f"expected labels of each text, and at least one text, got {len(found)} texts and "
            f"labels of {len(expected)}"
        )
    pairs = zip(found.tolist(), expected, strict=True)
    return np.array([set(a) == set(_several(b)) for a, b in pairs])


def _several(labels: Any) -> Iterable[Any]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise DataError(f"expected a list of labels for each text, got {labels!r}; [] for none")
    return labels
