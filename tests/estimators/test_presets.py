"""Presets: keywords that the estimator has, and none that the paper fixes left to a default."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from adasent import AdaSentClassifier
from adasent.errors import ConfigError
from adasent.estimators.presets import NOT_IN_PAPER, PRESETS, preset
from adasent.estimators.saved_network import network_settings
from adasent.systems.config import AdaSentConfig
from adasent.training.config import TrainingConfig


@pytest.mark.parametrize("name", PRESETS)
def test_settings_are_valid(name: str, reviews: tuple[list[str], list[str]]) -> None:
    assert set(PRESETS[name]) <= set(inspect.signature(AdaSentClassifier).parameters)
    texts, labels = reviews
    clf = AdaSentClassifier(**preset(name) | {"epochs": 1}).fit(texts[:20], labels[:20])
    for key, value in PRESETS[name].items():
        assert getattr(clf, key) == value


def test_every_setting_of_the_paper_is_decided() -> None:
    names = {*network_settings(AdaSentConfig), *(f.name for f in fields(TrainingConfig))}
    chosen = set(PRESETS["paper"]) & names
    assert not chosen & set(NOT_IN_PAPER)
    # A new setting goes into the preset, at what the paper does, or to what it leaves open.
    assert chosen | set(NOT_IN_PAPER) == names


def test_size_is_in_the_range_of_the_paper(reviews: tuple[list[str], list[str]]) -> None:
    clf = AdaSentClassifier(**preset("paper") | {"epochs": 1}).fit(*reviews)
    weights = dict(clf.model_.named_parameters())
    n_weights = sum(w.numel() for name, w in weights.items() if not name.startswith("embedding."))
    assert 10_000 <= n_weights <= 100_000


def test_a_preset_is_a_copy() -> None:
    preset("paper")["epochs"] = 1
    assert "epochs" not in preset("paper")


def test_unknown_name() -> None:
    with pytest.raises(ConfigError, match="unknown preset 'Paper'; did you mean 'paper'"):
        preset("Paper")
