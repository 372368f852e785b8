"""Who can teach, what is checked of it, how it is fitted, kept and named on a command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent import AdaSentClassifier
from adasent.errors import ConfigError, DataError
from adasent.estimators.registry import make
from adasent.teaching.teacher import (
    Teacher,
    find_teacher,
    fit_folds,
    fit_or_load,
    is_fitted,
)
from teaching_cases import SMALL, Rule

Labelled = tuple[list[str], list[str]]
CLASSES = np.array(["neg", "pos"])


class Says:
    """Says the same of every text."""

    def __init__(self, row: Any, classes: Any = None) -> None:
        self.row = row
        if classes is not None:
            self.classes_ = classes

    def predict_proba(self, texts: Sequence[str]) -> Any:
        return [self.row] * len(texts)


def test_columns_are_put_in_order() -> None:
    teacher = Teacher(Says([0.9, 0.1], ["pos", "neg"]), CLASSES)
    assert teacher.predict_proba(["x"]).tolist() == [[pytest.approx(0.1), pytest.approx(0.9)]]
    sorted_ = Teacher(Says([0.9, 0.1]), CLASSES)
    assert sorted_.predict_proba(["x"])[0, 0] == pytest.approx(0.9)
    numbers = Teacher(Says([0.2, 0.8], np.array([1, 0])), np.array([0, 1]))
    assert numbers.predict_proba(["x"])[0, 0] == pytest.approx(0.8)
    assert teacher.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0.5, 0.4, 0.1], r"shape \(2, 2\).*got \(2, 3\)"),
        ([2.0, -1.0], "sum to 1 from the teacher"),
        ([0.9, 0.9], "scores and logits are no probabilities"),
        ([float("nan"), 1.0], "sum to 1"),
    ],
)
def test_what_is_not_believed(row: list[float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        Teacher(Says(row), CLASSES).predict_proba(["x", "y"])


@pytest.mark.parametrize("classes", [["neg", "POS"], ["neg"], ["neg", "pos", "other"], [0, 1]])
def test_labels_must_agree(classes: list[Any]) -> None:
    with pytest.raises(DataError, match=r"the teacher's labels are .* of the texts 'neg', 'pos'"):
        Teacher(Says([0.5, 0.5], classes), CLASSES)


def test_without_probabilities() -> None:
    with pytest.raises(ConfigError, match="must have predict_proba; str has none"):
        Teacher("a name", CLASSES)


def test_teachers_are_told_apart_by_what_they_say() -> None:
    said = {
        Teacher(model, CLASSES).digest(["a", "b"])
        for model in (Says([0.9, 0.1]), Says([0.9001, 0.0999]), Says([0.8, 0.2]))
    }
    assert len(said) == 2
    assert Teacher(Says([0.9, 0.1]), np.array(["a", "b"])).digest(["a", "b"]) not in said


def test_who_is_fitted(labelled: Labelled, rule: Rule) -> None:
    assert is_fitted(rule)
    assert not is_fitted(make("mnb"))
    assert is_fitted(make("mnb").fit(*labelled))
    assert not is_fitted(AdaSentClassifier())


def test_folds_speak_of_what_they_have_not_seen(labelled: Labelled) -> None:
    texts, labels = labelled
    teacher = fit_folds(make("mnb"), texts, labels, n_folds=4, seed=0)
    assert len(teacher.members) == 4
    assert teacher.training_proba_.sum(axis=1) == pytest.approx(1)
    votes = np.mean([one.predict_proba(texts) for one in teacher.members], axis=0)
    assert teacher.predict_proba(texts) == pytest.approx(votes, abs=1e-6)
    own = [
        any(np.allclose(row, one.predict_proba([text])[0], atol=1e-6) for one in teacher.members)
        for text, row in zip(texts, teacher.training_proba_, strict=True)
    ]
    assert all(own)


def test_a_fit_is_kept_and_found(labelled: Labelled, tmp_path: Path) -> None:
    model = AdaSentClassifier(**SMALL | {"epochs": 1})
    first = fit_or_load(model, *labelled, folder=tmp_path / "t")
    assert not hasattr(model, "classes_")  # the caller's stays as it was
    again = fit_or_load(model, [], [], folder=tmp_path / "t")
    assert np.array_equal(first.predict_proba(labelled[0]), again.predict_proba(labelled[0]))
    assert {path.name for path in tmp_path.iterdir()} <= {"t", "t-training"}
    assert not list((tmp_path / "t-training").glob("*"))  # saved: no state is needed any more


def test_by_name(labelled: Labelled, tmp_path: Path) -> None:
    make("nbsvm").fit(*labelled).save(tmp_path / "saved")
    assert is_fitted(find_teacher(tmp_path / "saved"))
    named = find_teacher("cnn", random_state=3, epochs=2, vectors=None)
    assert (named.system, named.random_state, named.epochs) == ("cnn", 3, 2)
    assert find_teacher("mnb", vectors=["x"], random_state=4, verbose=1).system == "mnb"


def test_an_encoder_is_tuned(encoder_folder: Path) -> None:
    found = find_teacher(encoder_folder, random_state=5, vectors=["x"])
    assert isinstance(found, AdaSentClassifier)
    assert (found.encoder, found.tune_encoder) == (str(encoder_folder), True)
    assert found.vectors == "auto"  # which means nothing with an encoder
    assert found.random_state == 5


def test_what_is_no_teacher_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the name of a system \(.*nbsvm.*\) or an encoder"):
        find_teacher(tmp_path / "nowhere")
