"""Scores predictions: accuracy, figures of each class, a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from adasent.data.corpus import Label
from adasent.errors import DataError, require


@dataclass(frozen=True)
class ClassScore:
    """Scores of one class, each from 0 to 1; a score without a denominator is 0."""

    label: Label
    precision: float
    recall: float
    f1: float
    support: int  # texts that carry the label


@dataclass(frozen=True)
class Report:
    """Scores of a set of predictions."""

    n: int
    accuracy: float
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]  # [i][j] texts of class i were predicted as class j

    @property
    def n_correct(self) -> int:
        """How many predictions are right."""
        return sum(row[i] for i, row in enumerate(self.confusion))

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that occur among the true labels."""
        present = [score.f1 for score in self.classes if score.support]
        return sum(present) / len(present)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"n": self.n, "accuracy": self.accuracy, "macro_f1": self.macro_f1} | {
            "classes": [asdict(score) for score in self.classes],
            "confusion": [list(row) for row in self.confusion],
        }


def score_predictions(
    true: Sequence[Label], predicted: Sequence[Label], classes: Sequence[Label] = ()
) -> Report:
    """Compare predictions with the truth.

    Parameters
    ----------
    classes
        Order of the classes in the report. Labels that are not among them come last, in order of
        appearance; an empty sequence takes all that way.
    """
    if len(true) != len(predicted):
        raise DataError(f"expected a prediction a label, got {len(predicted)} and {len(true)}")
    if not len(true):
        raise DataError("expected at least one label to compare with, got none")
    metrics = require("sklearn.metrics", "train", "scoring predictions")
    # Integer codes, because scikit-learn sorts labels and mixed types cannot be sorted.
    code = {label: i for i, label in enumerate(dict.fromkeys([*classes, *true, *predicted]))}
    true_codes, predicted_codes = [code[v] for v in true], [code[v] for v in predicted]
    all_codes = list(range(len(code)))
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        true_codes, predicted_codes, labels=all_codes, zero_division=0
    )
    confusion = metrics.confusion_matrix(true_codes, predicted_codes, labels=all_codes)
    scores = tuple(
        ClassScore(label, float(precision[i]), float(recall[i]), float(f1[i]), int(support[i]))
        for label, i in code.items()
    )
    accuracy = float(metrics.accuracy_score(true_codes, predicted_codes))
    return Report(len(true), accuracy, scores, tuple(tuple(row) for row in confusion.tolist()))
