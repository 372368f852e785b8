"""Labelled texts of either kind, one label a text or several: their classes, parts and targets.

Several labels a text are tuples; a target of theirs has a number from 0 to 1 for each class by
itself, where one label has a row that sums to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adasent.data import held_out
from adasent.data.corpus import Indices
from adasent.data.splits import held_out_several
from adasent.estimators.base import check_examples
from adasent.estimators.label_lists import are_lists, check_lists, indicator, read_lists
from adasent.text.encoder import check_texts


def check_labelled(texts: Any, labels: Any) -> tuple[list[str], list[Any]]:
    """Texts and as many labels, or tuples of labels, or an error that says what is wrong."""
    if not are_lists(labels):
        given, found = check_examples(texts, labels)
        return given, found.tolist()
    check_lists(texts, labels, None, None)
    return check_texts(texts), [tuple(one) for one in read_lists(labels)]


def are_several(labels: Sequence[Any]) -> bool:
    """Whether a text may have several labels."""
    return any(isinstance(one, tuple) for one in labels)


def classes_of(labels: Sequence[Any]) -> np.ndarray:
    """(C,) the labels there are, sorted."""
    if are_several(labels):
        labels = [label for own in labels for label in own]
    return np.unique(np.asarray(labels))


def set_aside(
    labels: Sequence[Any], fraction: float, seed: int, texts: Sequence[str]
) -> tuple[Indices, Indices]:
    """Positions of a stratified part and of the others; equal texts are on one side."""
    if not are_several(labels):
        return held_out(labels, fraction, seed, texts=texts)
    there = indicator(labels, classes_of(labels))
    return held_out_several(there, fraction, seed, texts)


def targets_of(labels: Sequence[Any], classes: np.ndarray) -> np.ndarray:
    """(N, C) float32 which classes a text has; labels that are no classes are left out."""
    found = np.zeros((len(labels), len(classes)), dtype=np.float32)
    place = {label: c for c, label in enumerate(classes.tolist())}
    for row, own in zip(found, labels, strict=True):
        for label in own if isinstance(own, tuple) else (own,):
            if label in place:
                row[place[label]] = 1
    return found


def all_known(labels: Sequence[Any], classes: np.ndarray) -> np.ndarray:
    """(N,) whether every label of a text is one of the classes."""
    known = set(classes.tolist())
    return np.array(
        [set(own if isinstance(own, tuple) else (own,)) <= known for own in labels], dtype=bool
    )


def micro_f1(said: np.ndarray, truth: np.ndarray, n_labels: int) -> float:
    """F1 of all decisions together: (N, C) of 0 and 1, and how many labels the texts have."""
    n = float(said.sum()) + n_labels
    return 2 * float((said * truth).sum()) / n if n else 0.0
