"""Scores of several labels a text, against what they are by hand."""

from __future__ import annotations

import json

import pytest
from sklearn import metrics

from adasent.errors import DataError
from adasent.evaluation.several import score_several

TRUE = [("a", "b"), ("b",), (), ("a",)]
SAID = [("b", "a"), ("a", "b"), (), ()]


def test_scores_by_hand() -> None:
    found = score_several(TRUE, SAID, ["b", "a", "c"])
    # Of four labels that are there three are found, and one is said that is not there.
    assert found.micro_f1 == pytest.approx(2 * 3 / (4 + 4))
    assert [one.label for one in found.classes] == ["b", "a", "c"]
    assert [one.f1 for one in found.classes] == [1.0, 0.5, 0.0]
    assert found.macro_f1 == 0.75  # c does not occur
    assert found.subset_accuracy == 0.5  # the order of labels does not matter
    assert found.hamming_loss == pytest.approx(2 / 12)
    assert [one.support for one in found.classes] == [2, 2, 0]
    there, said = ([[label in labels for label in "bac"] for labels in x] for x in (TRUE, SAID))
    assert found.hamming_loss == pytest.approx(metrics.hamming_loss(there, said))
    assert found.micro_f1 == pytest.approx(metrics.f1_score(there, said, average="micro"))
    assert json.loads(json.dumps(found.to_dict()))["micro_f1"] == found.micro_f1


def test_a_label_that_the_model_does_not_know_comes_last() -> None:
    found = score_several([("z",)], [("a",)], ["a"])
    assert [one.label for one in found.classes] == ["a", "z"]
    assert found.micro_f1 == 0


def test_one_class_is_there_or_not() -> None:
    found = score_several([("a",), (), ("a",)], [("a",), ("a",), ()], ["a"])
    assert found.micro_f1 == found.macro_f1 == 0.5
    assert found.hamming_loss == pytest.approx(2 / 3)


def test_texts_without_any_label() -> None:
    found = score_several([(), ()], [(), ()], ["a"])
    assert (found.micro_f1, found.macro_f1, found.subset_accuracy) == (0, 0, 1)
    with pytest.raises(DataError, match="at least one text"):
        score_several([], [])
