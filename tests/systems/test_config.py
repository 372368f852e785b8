"""Configurations are checked on construction and survive JSON whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adasent.errors import ConfigError
from adasent.systems.config import AdaSentConfig

BASE: dict[str, Any] = {"n_trained": 5, "n_classes": 2, "vector_size": 3}


def test_json_round_trip() -> None:
    config = AdaSentConfig(**BASE, n_fixed=7, pooling="mean", copy_bias=-1.5, classifier_size=0)
    assert AdaSentConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_trained", 1, "n_trained must be a whole number of at least 2; got 1"),
        ("n_fixed", -1, "n_fixed must be a whole number of at least 0; got -1"),
        ("n_classes", 0, "n_classes"),
        ("vector_size", True, "vector_size must be a whole number of at least 1; got True"),
        ("hidden_size", 2.5, "hidden_size must be a whole number from 1 to 4096; got 2.5"),
        ("hidden_size", 10**9, "from 1 to 4096"),
        ("hidden_size", "100", "hidden_size must be a whole number"),
        ("hidden_size", float("nan"), "got nan"),
        ("copy_bias", float("inf"), "copy_bias must be a number from -20 to 20; got inf"),
        ("classifier_size", -1, "classifier_size"),
        ("gate_size", 0, "gate_size"),
        ("pooling", "sum", "pooling must be one of mean, max; got 'sum'"),
        ("activation", None, "activation must be one of tanh, relu; got None"),
        ("local_gate", "linear", "local_gate must be one of softmax, mlp"),
        ("level_gate", ["mlp"], "level_gate must be one of softmax, mlp"),
    ],
)
def test_values_out_of_range(name: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AdaSentConfig(**(BASE | {name: value}))


def test_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="unknown setting 'hiden_size'; did you mean 'hidden_"):
        AdaSentConfig.from_dict(BASE | {"hiden_size": 3})
