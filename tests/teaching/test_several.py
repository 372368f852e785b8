"""Teaching where a text may have several labels: targets by class, thresholds, the whole way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from adasent import AdaSentClassifier
from adasent.errors import ConfigError, DataError
from adasent.teaching.kinds import all_known, check_labelled, micro_f1, set_aside, targets_of
from adasent.teaching.labels import label
from adasent.teaching.student import TeachingConfig, material, soften
from adasent.teaching.teach import ExtraConfig, teach
from adasent.teaching.teacher import FoldTeacher, Teacher
from teaching_cases import GOOD, SMALL, sentences

CLASSES = np.array(["good", "not"])
Several = list[tuple[str, ...]]


def labels_of(texts: Sequence[str]) -> Several:
    """Whether a word is good, and whether something is denied: all four sets occur."""
    found = []
    for text in texts:
        words = text.split()
        own = ["good"] if set(words) & set(GOOD) else []
        found.append(tuple(own + ["not"] * ("not" in words)))
    return found


class Knowing:
    """Says what is true with 90 %, in an order of classes of its own."""

    classes_ = CLASSES[::-1]

    def __init__(self, asked: list[str] | None = None) -> None:
        self.asked: list[str] = [] if asked is None else asked

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return 0.1 + 0.8 * targets_of(labels_of(texts), self.classes_)


def test_a_student_learns_the_label_that_few_texts_have(tmp_path: Path) -> None:
    plain, denied = sentences(negated=False), sentences(negated=True)
    texts = [*plain[:56], *denied[:4]]
    held = denied[90:] + plain[90:]
    teacher = Knowing()
    taught = teach(
        texts,
        labels_of(texts),
        teacher,
        unlabelled=[*denied[4:90], *plain[56:90]],
        student=AdaSentClassifier(**SMALL),
        held_out=(held, labels_of(held)),
        dev_fraction=0,
        extra=ExtraConfig(n_extra=100),
        cache=tmp_path,
    )
    report = taught.report
    assert report.teacher_micro_f1 == report.teacher_accuracy == 1
    assert report.student_accuracy == taught.student.score(held, labels_of(held))
    assert report.student_micro_f1 is not None
    assert report.student_micro_f1 > 0.9
    assert report.comparison is not None
    assert taught.student.thresholds_.shape == (2,)
    assert not set(teacher.asked[: report.n_labelled + report.n_extra]) & set(held)
    assert taught.student.predict(["the film is not superb"])[0] == ("good", "not")
    # What the teacher said is kept, and believed: nothing is asked a second time.
    asked, known = (
        label(denied[4:8], [Teacher(Knowing(), CLASSES, several=True)], folder=tmp_path / "more")
        for _ in range(2)
    )
    assert (asked.n_asked, known.n_asked) == (4, 0)
    truth = targets_of(labels_of(denied[4:8]), CLASSES)
    np.testing.assert_allclose(known.probabilities, 0.1 + 0.8 * truth, atol=1e-3)


def test_temperature_is_of_each_class_by_itself() -> None:
    """The odds of 0.8 are 4 to 1; their square root is 2 to 1."""
    said = np.array([[0.8, 0.5], [0.2, 0.0]])
    heated = soften(said, 2, several=True)
    assert heated[0] == pytest.approx([2 / 3, 0.5])
    assert heated[1, 0] == pytest.approx(1 / 3)
    assert 0 < heated[1, 1] < 1e-3
    assert soften(said, 1, several=True) is said


def test_targets_are_mixed_by_class() -> None:
    said = np.array([[0.4, 0.8]])
    texts, targets, weights = material(
        ["a"], [("not",)], said, ["b"], said, classes=CLASSES, epochs=1, config=TeachingConfig()
    )
    assert texts == ["a", "b"]
    np.testing.assert_allclose(targets, [[0.2, 0.9], [0.4, 0.8]])
    assert weights.tolist() == [1, 1]


def test_a_teacher_is_distrusted_by_class() -> None:
    class Odd:
        def predict_proba(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), 2), 1.5)

    with pytest.raises(DataError, match="from 0 to 1 from the teacher"):
        Teacher(Odd(), CLASSES, several=True).predict_proba(["a"])
    one = AdaSentClassifier()  # which gives a text one label as long as nothing else is fitted
    with pytest.raises(ConfigError, match="several labels; this model gives it one"):
        Teacher(one, CLASSES, several=True)
    ordered = Teacher(Knowing(), CLASSES, several=True).predict_proba(["a film is not good"])
    np.testing.assert_allclose(ordered, [[0.9, 0.9]])
    ordered = Teacher(Knowing(), CLASSES, several=True).predict_proba(["a film is not bad"])
    np.testing.assert_allclose(ordered, [[0.1, 0.9]])


def test_fits_on_folds_vote_by_their_thresholds() -> None:
    first, second = Knowing(), Knowing()
    first.thresholds_ = np.array([0.2, 0.4])  # of "not" and of "good"
    second.thresholds_ = np.array([0.4, 0.8])
    vote = FoldTeacher([first, second], CLASSES, np.zeros((0, 2)), several=True)
    teacher = Teacher(vote, CLASSES, several=True)
    assert teacher.thresholds == pytest.approx([0.6, 0.3])
    np.testing.assert_allclose(teacher.predict_proba(["a plot is fine"]), [[0.9, 0.1]])


def test_labels_are_checked_and_set_aside() -> None:
    texts = sentences(negated=False) + sentences(negated=True)
    _, labels = check_labelled(texts, [list(own) for own in labels_of(texts)])
    assert labels == labels_of(texts)
    rest, aside = set_aside(labels, 0.25, 0, texts)
    assert len(aside) == len(texts) // 4
    shares = [targets_of([labels[i] for i in rows], CLASSES).mean(axis=0) for rows in (rest, aside)]
    np.testing.assert_allclose(*shares, atol=0.1)
    with pytest.raises(DataError, match="list of labels for every text"):
        check_labelled(["a", "b"], [["x"], "x"])
    assert all_known([("good",), ("good", "odd"), ()], CLASSES).tolist() == [True, False, True]


def test_micro_f1_by_hand() -> None:
    """Three labels are there, two are said, one is both."""
    said, truth = np.array([[1, 1], [0, 0]]), np.array([[1, 0], [1, 1]])
    assert micro_f1(said, truth, 3) == pytest.approx(2 / 5)
    assert micro_f1(said * 0, truth * 0, 0) == 0
