"""Targets by hand, the size of an epoch, and who can be a student."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier
from adasent.errors import ConfigError
from adasent.estimators.registry import make
from adasent.teaching.student import TeachingConfig, fit_student, mix, rhythm, soften
from teaching_cases import SMALL

SAID = np.array([[0.64, 0.36], [0.5, 0.5], [0.0, 1.0]])


def test_temperature_by_hand() -> None:
    """The square root of 0.64 is 0.8, that of 0.36 is 0.6: of 1.4 in all."""
    assert soften(SAID, 2)[:2] == pytest.approx(np.array([[0.8 / 1.4, 0.6 / 1.4], [0.5, 0.5]]))
    assert soften(SAID, 0.5)[0] == pytest.approx(np.array([0.4096, 0.1296]) / 0.5392)
    assert soften(SAID, 1) is SAID
    certain = soften(SAID, 4)[2]
    assert certain.sum() == pytest.approx(1)
    assert 0 < certain[0] < 0.02  # what was rounded to nothing stays next to nothing


def test_mixture_by_hand() -> None:
    given = np.eye(2)[[1, 0, 1]]
    mixed = mix(given, SAID, 0.25)
    assert mixed == pytest.approx(np.array([[0.48, 0.52], [0.625, 0.375], [0.0, 1.0]]))
    assert mix(given, SAID, 1).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert mix(given, SAID, 0) == pytest.approx(SAID)


@pytest.mark.parametrize(
    ("n_labelled", "n_extra", "epochs", "given", "expected"),
    [
        (1000, 0, 30, {}, (1, 1000)),  # nothing extra: passes, as ever
        (1000, 500, 30, {}, (1, 1500)),  # few: once an epoch
        (1000, 5000, 30, {}, (5, 2000)),  # as much of the one as of the others
        (1000, 90_000, 30, {}, (10, 10_000)),  # three passes
        (1000, 90_000, 30, {"passes": 6}, (5, 19_000)),
        (1000, 90_000, 30, {"repeat": 1}, (1, 9100)),
        (10, 90, 1, {}, (1, 100)),  # no epoch is more than a pass
    ],
)
def test_rhythm(
    n_labelled: int, n_extra: int, epochs: int, given: Any, expected: tuple[int, int]
) -> None:
    assert rhythm(n_labelled, n_extra, epochs, TeachingConfig(**given)) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 0), ("hard", 1.1), ("extra_weight", -1), ("passes", 0), ("repeat", 0)],
)
def test_out_of_range(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be"):
        TeachingConfig(**{name: value})


def fit(student: Any, labelled: tuple[list[str], list[str]], **settings: Any) -> Any:
    texts, labels = labelled
    classes = np.array(["neg", "pos"])
    said = np.eye(2)[np.searchsorted(classes, labels)]
    none = np.empty((0, 2))
    config = TeachingConfig(**settings)
    held = (texts[50:], labels[50:])
    return fit_student(
        student, texts[:50], labels[:50], said[:50], [], none,
        classes=classes, validation=held, config=config,
    )  # fmt: skip


def test_a_certain_teacher_teaches_what_the_labels_do(
    labelled: tuple[list[str], list[str]],
) -> None:
    texts, labels = labelled
    plain = AdaSentClassifier(**SMALL | {"epochs": 2})
    plain.fit(texts[:50], labels[:50], validation=(texts[50:], labels[50:]))
    taught = fit(AdaSentClassifier(**SMALL | {"epochs": 2}), labelled, hard=0.3, temperature=1)
    for name, tensor in plain.model_.state_dict().items():
        assert torch.equal(tensor, taught.model_.state_dict()[name]), name


def test_any_network_can_be_a_student(labelled: tuple[list[str], list[str]]) -> None:
    settings = {k: v for k, v in SMALL.items() if k != "hidden_size"} | {"epochs": 1}
    assert len(fit(make("cbow", **settings), labelled).history_) == 1


def test_others_cannot(labelled: tuple[list[str], list[str]]) -> None:
    with pytest.raises(ConfigError, match=r"must be a network.*NBSVMClassifier is none"):
        fit(make("nbsvm"), labelled)


def test_labelled_texts_are_repeated_beside_others(
    labelled: tuple[list[str], list[str]], negated: list[str]
) -> None:
    texts, labels = labelled
    student = AdaSentClassifier(**SMALL | {"epochs": 6})
    classes = np.array(["neg", "pos"])
    said, others = np.full((60, 2), 0.5), np.full((128, 2), 0.5)
    taught = fit_student(
        student, texts, labels, said, negated, others,
        classes=classes, validation=(texts, labels), config=TeachingConfig(),
    )  # fmt: skip
    assert taught.training_["n_texts"] == 2 * 60 + 128
    assert (
        taught.training_["settings"]["epoch_size"] == 124
    )  # of 248 texts in 6 epochs, three times


def test_an_epoch_size_of_the_students_own_counts(labelled: tuple[list[str], list[str]]) -> None:
    taught = fit(AdaSentClassifier(**SMALL | {"epochs": 2, "epoch_size": 7}), labelled)
    assert taught.epoch_size == 7
    assert taught.training_["settings"]["epoch_size"] == 7
