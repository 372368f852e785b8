"""A network is calibrated on its validation part, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import adasent
from adasent import AdaSentClassifier
from adasent.estimators.neural import fit_encoded
from adasent.estimators.prediction import network_proba, network_votes
from adasent.estimators.registry import SYSTEMS, make
from adasent.evaluation.metrics import validation_report
from adasent.explain import explain

TINY: dict[str, Any] = {"vector_size": 8, "epochs": 3, "learning_rate": 0.01, "random_state": 0}
SMALL: dict[str, Any] = TINY | {"hidden_size": 8, "classifier_size": 8}


def noisy(reviews: tuple[list[str], list[str]]) -> tuple[list[str], list[str]]:
    """The reviews with a third of the labels turned, so that no model can be sure of them."""
    texts, labels = reviews
    turned = {"pos": "neg", "neg": "pos"}
    return texts, [turned[label] if i % 3 == 0 else label for i, label in enumerate(labels)]


@pytest.fixture(scope="module")
def pair(reviews: tuple[list[str], list[str]]) -> tuple[AdaSentClassifier, AdaSentClassifier]:
    """The same training, calibrated and not."""
    many = SMALL | {"validation_fraction": 0.3, "epochs": 6, "average": 0.0, "dropout": 0.0}
    both = [AdaSentClassifier(**many, calibrate=wanted) for wanted in (True, False)]
    return tuple(clf.fit(*noisy(reviews)) for clf in both)  # type: ignore[return-value]


def test_what_is_said(pair: tuple[AdaSentClassifier, AdaSentClassifier]) -> None:
    on, off = (clf.training_["calibration"] for clf in pair)
    assert on["temperature"] != pytest.approx(1, abs=0.01)
    assert on["n_texts"] == pair[0].training_["n_validation"]
    assert on["after"]["log_loss"] < on["before"]["log_loss"]
    assert off == {"temperature": None, "why_not": "calibrate is False"}


def test_only_the_last_layer_changes_and_by_the_temperature(
    pair: tuple[AdaSentClassifier, AdaSentClassifier],
) -> None:
    on, off = (clf.model_.state_dict() for clf in pair)
    temperature = pair[0].training_["calibration"]["temperature"]
    for name, tensor in off.items():
        scaled = tensor / temperature if name.startswith("classifier.out") else tensor
        assert torch.equal(on[name], scaled), name


def test_predictions_are_the_mixture_at_the_temperature(
    pair: tuple[AdaSentClassifier, AdaSentClassifier], reviews: tuple[list[str], list[str]]
) -> None:
    on, off = pair
    texts = reviews[0][:20]
    votes = network_votes(off.model_, off.encoder_(texts))
    assert votes.mixture() == pytest.approx(network_proba(off.model_, off.encoder_(texts)))
    temperature = on.training_["calibration"]["temperature"]
    assert on.predict_proba(texts) == pytest.approx(votes.mixture(temperature), abs=1e-5)


def test_levels_still_add_up_after_saving(
    pair: tuple[AdaSentClassifier, AdaSentClassifier],
    reviews: tuple[list[str], list[str]],
    tmp_path: Path,
) -> None:
    on, _ = pair
    on.save(tmp_path / "m")
    predictor = adasent.load(tmp_path / "m")
    text = reviews[0][0]
    assert (predictor.predict_proba([text]) == on.predict_proba([text])).all()
    found = explain(predictor, text)
    assert found.contributions.sum(axis=0) == pytest.approx(predictor.predict_proba([text])[0])
    assert predictor.training_["calibration"] == on.training_["calibration"]
    again = AdaSentClassifier.load(tmp_path / "m")
    assert (again.calibrate, again.metric) == (True, "accuracy")


def test_the_validation_part_can_be_reported(
    pair: tuple[AdaSentClassifier, AdaSentClassifier],
) -> None:
    for clf in pair:
        report = validation_report(clf.classes_.tolist(), clf.training_)
        assert report is not None
        assert report.n == clf.training_["n_validation"]
        assert report.accuracy == pytest.approx(
            clf.history_[clf.history_.best_epoch]["valid_accuracy"], abs=1.5 / report.n
        )


def test_without_a_validation_part(reviews: tuple[list[str], list[str]]) -> None:
    clf = AdaSentClassifier(**SMALL | {"epochs": 1}, validation_fraction=0.0)
    facts = clf.fit(reviews[0][:20], reviews[1][:20]).training_
    assert facts["calibration"]["why_not"] == "there was no validation part"
    assert facts["validation"] is None
    assert validation_report(["neg", "pos"], facts) is None


def test_a_stack_gives_the_same(reviews: tuple[list[str], list[str]]) -> None:
    texts, labels = (column[:40] for column in noisy(reviews))
    make_two = [AdaSentClassifier(**SMALL | {"random_state": seed}) for seed in (0, 1)]
    fit_encoded(make_two, [clf.encode(texts, labels) for clf in make_two])
    for seed, clf in enumerate(make_two):
        alone = AdaSentClassifier(**SMALL | {"random_state": seed}).fit(texts, labels)
        found, expected = (one.training_["calibration"] for one in (clf, alone))
        assert found["temperature"] == pytest.approx(expected["temperature"], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *((name, {}) for name, one in SYSTEMS.items() if one.by_epochs and not one.trees),
        ("cnn", {"max_norm": 0.0}),
    ],
)
def test_other_networks(
    name: str, settings: dict[str, Any], reviews: tuple[list[str], list[str]]
) -> None:
    texts, labels = (column[:60] for column in noisy(reviews))
    many = TINY | {"validation_fraction": 0.3, "epochs": 1} | settings
    on, off = (make(name, **many, calibrate=wanted).fit(texts, labels) for wanted in (True, False))
    said = on.training_["calibration"]
    if name == "cnn" and not settings:  # weights under a norm limit cannot be scaled
        assert said == {"temperature": None, "why_not": "the network's scores cannot be scaled"}
        assert (on.predict_proba(texts) == off.predict_proba(texts)).all()
        return
    # One level: dividing the scores is raising the probabilities to the power of 1 / T.
    powers = network_votes(off.model_, off.encoder_(texts)).mixture(said["temperature"])
    assert on.predict_proba(texts) == pytest.approx(powers, abs=1e-5)
    if name not in ("adasent", "rae"):
        assert np.array_equal(on.predict(texts), off.predict(texts))
