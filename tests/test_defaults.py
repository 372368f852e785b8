"""A default is written in a config and in the estimator's signature; the two must agree."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields

import pytest

from adasent import AdaSentClassifier
from adasent.systems.config import AdaSentConfig
from adasent.training.config import TrainingConfig, suited_to

#: What the estimator does by default and a config does not: older models, which do not say it, had
#: none of it.
RECIPE = {
    "gate_groups": None,
    "pooling": "mean",
    "level_loss": 0.5,
    "table_rate": 0.3,
    "average": 1.0,
    "penalty": 1e-3,
    "word_dropout": 0.0,
    "calibrate": True,
}


@pytest.mark.parametrize("config", [AdaSentConfig, TrainingConfig])
def test_estimator_has_the_defaults_of_the_config(
    config: type[AdaSentConfig] | type[TrainingConfig],
) -> None:
    keywords = inspect.signature(AdaSentClassifier).parameters
    # Sizes that only the data decides are no keywords; n_fixed is one of them.
    expected = {
        f.name: f.default for f in fields(config) if f.default is not MISSING and f.name in keywords
    }
    assert len(expected) > 5
    expected |= {name: value for name, value in RECIPE.items() if name in expected}
    # These follow from the word vectors when they are not given.
    expected |= {name: None for name in suited_to(0) if name in expected}
    assert {name: keywords[name].default for name in expected} == expected


@pytest.mark.parametrize(
    ("size", "given", "expected"),
    [
        (50, {}, (1e-3, 0.3)),
        (200, {}, (1e-3, 0.6)),
        (200, {"learning_rate": 0.01}, (0.01, 0.6)),
        (200, {"vector_dropout": 0.0}, (1e-3, 0.0)),
    ],
)
def test_rate_and_dropout_follow_from_the_vectors(
    size: int, given: dict[str, float], expected: tuple[float, float]
) -> None:
    texts, labels = ["good film", "bad film", "so bad", "so good"] * 3, [1, 0, 0, 1] * 3
    clf = AdaSentClassifier(vector_size=size, epochs=1, hidden_size=4, **given)  # type: ignore[arg-type]
    used = clf.fit(texts, labels).training_["settings"]
    assert (used["learning_rate"], used["vector_dropout"]) == expected
    assert clf.learning_rate is given.get("learning_rate")  # as it was passed, for clone
