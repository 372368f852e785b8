"""Scores predictions: accuracy, means over classes, figures of each class, a confusion matrix."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from adasent.data.corpus import Label
from adasent.errors import DataError, require

if TYPE_CHECKING:
    from adasent.evaluation.records import FoldRecord


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
    # Means over the classes that occur among the true labels.
    macro_f1: float
    balanced_accuracy: float  # mean recall
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]  # [i][j] texts of class i were predicted as class j

    @property
    def n_correct(self) -> int:
        """How many predictions are right."""
        return sum(row[i] for i, row in enumerate(self.confusion))

    @property
    def n_predicted(self) -> tuple[int, ...]:
        """How many texts each class was predicted of."""
        return tuple(map(sum, zip(*self.confusion, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {name: getattr(self, name) for name in ("n", *MEANS)} | {
            "classes": [asdict(score) for score in self.classes],
            "confusion": [list(row) for row in self.confusion],
        }


#: Figures of a report that are one number each, with their names in words.
MEANS = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "balanced_accuracy": "balanced accuracy",
}


def score_predictions(
    true: Sequence[Label],
    predicted: Sequence[Label],
    classes: Sequence[Label] = (),
    counts: Sequence[int] | None = None,
) -> Report:
    """Compare predictions with the truth.

    Parameters
    ----------
    classes
        Order of the classes in the report. Labels that are not among them come last, in order of
        appearance; an empty sequence takes all that way.
    counts
        How many texts each pair of a label and a prediction stands for; None is one.
    """
    if len(true) != len(predicted):
        raise DataError(f"expected a prediction a label, got {len(predicted)} and {len(true)}")
    if not len(true):
        raise DataError("expected at least one label to compare with, got none")
    metrics = require("sklearn.metrics", "train", "scoring predictions")
    # Integer codes, because scikit-learn sorts labels and mixed types cannot be sorted.
    code = {label: i for i, label in enumerate(dict.fromkeys([*classes, *true, *predicted]))}
    pairs = [code[v] for v in true], [code[v] for v in predicted]
    all_codes = list(range(len(code)))
    score = partial(
        metrics.precision_recall_fscore_support, *pairs, sample_weight=counts, zero_division=0
    )
    precision, recall, f1, support = score(labels=all_codes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A single label", UserWarning)  # all labels are given
        confusion = metrics.confusion_matrix(*pairs, labels=all_codes, sample_weight=counts)
    scores = tuple(
        ClassScore(label, float(precision[i]), float(recall[i]), float(f1[i]), int(support[i]))
        for label, i in code.items()
    )
    _, mean_recall, mean_f1, _ = score(labels=sorted(set(pairs[0])), average="macro")
    return Report(
        len(true) if counts is None else sum(counts),
        float(metrics.accuracy_score(*pairs, sample_weight=counts)),
        float(mean_f1),
        float(mean_recall),
        scores,
        tuple(tuple(row) for row in confusion.tolist()),
    )


def validation_report(classes: Sequence[Label], training: Mapping[str, Any]) -> Report | None:
    """What ``training_`` says of a network on its validation part; None if there was none."""
    found = training.get("validation")
    if not found:
        return None
    true, predicted, counts = zip(*found["confusion"], strict=True)
    return score_predictions(_labels(classes, true), _labels(classes, predicted), classes, counts)


def record_report(record: FoldRecord) -> Report:
    """The scores of a recorded fold."""
    classes = record.classes
    true, predicted = _labels(classes, record.true), _labels(classes, record.predicted)
    return score_predictions(true, predicted, classes)


def _labels(classes: Sequence[Label], positions: Sequence[int]) -> list[Label]:
    return [classes[i] for i in positions]


def pooled(reports: Sequence[Report]) -> Report:
    """The scores of several folds as one set of predictions; all have the same classes."""
    labels = [one.label for one in reports[0].classes]
    counts = [
        (labels[i], labels[j], sum(report.confusion[i][j] for report in reports))
        for i in range(len(labels))
        for j in range(len(labels))
    ]
    true, predicted, texts = zip(*(one for one in counts if one[2]), strict=True)
    return score_predictions(true, predicted, labels, texts)
