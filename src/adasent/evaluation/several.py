"""Scores predictions of several labels a text: micro and macro F1, texts that are all right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adasent.data.corpus import Label, Labels
from adasent.errors import DataError, require
from adasent.evaluation.metrics import ClassScore

if TYPE_CHECKING:
    from adasent.evaluation.records import FoldRecord


@dataclass(frozen=True)
class SeveralReport:
    """Scores of a set of predictions, from 0 to 1; a score without a denominator is 0."""

    n: int
    micro_f1: float  # of all decisions taken together: a text and a label each
    macro_f1: float  # mean over the classes that occur among the true labels
    hamming_loss: float  # share of the decisions that are wrong
    subset_accuracy: float  # share of the texts that have all their labels and no other
    classes: tuple[ClassScore, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self)


#: Figures of a report that are one number each, with their names in words.
MEANS = {
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "subset_accuracy": "subset accuracy",
    "hamming_loss": "Hamming loss",
}


def record_several(record: FoldRecord) -> SeveralReport:
    """The scores of a recorded fold of texts that may have several labels."""
    true, predicted = (
        [tuple(record.classes[i] for i in one) for one in labels]
        for labels in (record.true, record.predicted)
    )
    return score_several(true, predicted, record.classes)


def score_several(
    true: Sequence[Labels], predicted: Sequence[Labels], classes: Sequence[Label] = ()
) -> SeveralReport:
    """Compare predicted labels with the true ones, as scikit-learn does.

    Parameters
    ----------
    classes
        Order of the classes in the report; labels that are not among them come last.
    """
    if len(true) != len(predicted) or not len(true):
        raise DataError(
            f"expected at least one text and predictions for each, got {len(true)} and "
            f"{len(predicted)}"
        )
    metrics = require("sklearn.metrics", "train", "scoring predictions")
    every = [label for labels in (*true, *predicted) for label in labels]
    names = list(dict.fromkeys([*classes, *every]))
    # Of a single column scikit-learn makes two classes: one that no text has is beside them.
    there, said = (_matrix(labels, [*names, None]) for labels in (true, predicted))
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        there, said, zero_division=0
    )
    present = np.flatnonzero(support)
    return SeveralReport(
        len(true),
        float(metrics.f1_score(there, said, average="micro", zero_division=0)),
        float(f1[present].mean()) if len(present) else 0.0,
        float(np.mean(there[:, :-1] != said[:, :-1])),
        float(metrics.accuracy_score(there, said)),
        tuple(
            ClassScore(name, float(precision[c]), float(recall[c]), float(f1[c]), int(support[c]))
            for c, name in enumerate(names)
        ),
    )


def _matrix(labels: Sequence[Labels], names: Sequence[Label | None]) -> np.ndarray:
    """(N, C) of 0 and 1."""
    place = {name: c for c, name in enumerate(names)}
    found = np.zeros((len(labels), len(names)), dtype=np.int64)
    for row, own in zip(found, labels, strict=True):
        row[[place[label] for label in own]] = 1
    return found
