"""Scores worked by hand."""

from __future__ import annotations

import json

import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score

from adasent.errors import DataError
from adasent.evaluation.metrics import pooled, score_predictions


def test_by_hand() -> None:
    report = score_predictions(["a", "a", "a", "b"], ["a", "b", "a", "b"], ["b", "a"])
    assert report.accuracy == 0.75
    assert report.n_correct == 3
    assert report.confusion == ((1, 0), (1, 2))
    b, a = report.classes
    assert (b.label, b.precision, b.recall, b.support) == ("b", 0.5, 1.0, 1)
    assert (a.precision, a.support) == (1.0, 3)
    assert a.recall == pytest.approx(2 / 3)
    assert a.f1 == pytest.approx(0.8)
    assert report.macro_f1 == pytest.approx((0.8 + 2 / 3) / 2)


def test_class_never_predicted_or_never_true_scores_zero() -> None:
    report = score_predictions([1, 1], [2, 2], [1, 2, 3])
    assert [(s.precision, s.recall, s.f1, s.support) for s in report.classes] == [
        (0.0, 0.0, 0.0, 2),
        (0.0, 0.0, 0.0, 0),
        (0.0, 0.0, 0.0, 0),
    ]
    assert report.macro_f1 == 0.0


def test_labels_of_several_types_and_json() -> None:
    report = score_predictions([True, "x", 3], [True, "x", "x"])
    values = json.loads(json.dumps(report.to_dict()))
    assert [one["label"] for one in values["classes"]] == [True, "x", 3]
    assert values["confusion"] == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert (values["n"], values["accuracy"]) == (3, pytest.approx(2 / 3))


@pytest.mark.parametrize(("true", "predicted"), [([], []), ([1], [1, 2])])
def test_nothing_to_compare(true: list[int], predicted: list[int]) -> None:
    with pytest.raises(DataError):
        score_predictions(true, predicted)


def test_means_are_those_of_scikit_learn() -> None:
    true, predicted = list("aabbbccccc"), list("abbbcccacc")
    report = score_predictions(true, predicted)
    assert report.macro_f1 == pytest.approx(f1_score(true, predicted, average="macro"))
    assert report.balanced_accuracy == pytest.approx(balanced_accuracy_score(true, predicted))
    assert report.n_predicted == (2, 3, 5)


def test_counts_stand_for_texts() -> None:
    one_by_one = score_predictions(["a", "a", "b", "b", "b"], ["a", "a", "b", "b", "a"])
    counted = score_predictions(["a", "b", "b"], ["a", "b", "a"], counts=[2, 2, 1])
    assert counted == one_by_one
    parts = [score_predictions(["a", "b"], ["a", "b"]), score_predictions(list("abb"), list("aba"))]
    assert pooled(parts) == one_by_one
