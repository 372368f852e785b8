"""Training settings are checked on construction."""

from __future__ import annotations

import pytest

from adasent.errors import ConfigError
from adasent.training.config import TrainingConfig


def test_json_round_trip() -> None:
    config = TrainingConfig(optimizer="adagrad", epochs=3, fine_tune=False)
    assert TrainingConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimizer", "sgd"),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("penalty", -1),
        ("clip_norm", 0),
        ("word_dropout", 1),
        ("vector_dropout", -0.1),
        ("dropout", "half"),
        ("epochs", 0),
        ("epochs", 1.5),
        ("epoch_size", 0),
        ("batch_size", 0),
        ("patience", 0),
    ],
)
def test_out_of_range(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{name} must be"):
        TrainingConfig(**{name: value})  # type: ignore[arg-type]
