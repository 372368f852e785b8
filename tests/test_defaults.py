"""A default is written in a config and in the estimator's signature; the two must agree."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields

import pytest

from adasent import AdaSentClassifier
from adasent.systems.config import AdaSentConfig
from adasent.training.config import TrainingConfig


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
    assert {name: keywords[name].default for name in expected} == expected
