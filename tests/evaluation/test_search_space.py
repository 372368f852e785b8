"""What may be searched: the default of every system, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from adasent.errors import ConfigError
from adasent.estimators.neural import NeuralClassifier, network_size
from adasent.estimators.registry import SYSTEMS, find
from adasent.evaluation.search_space import (
    Choice,
    Range,
    check_space,
    default_space,
    searchable,
    started_at,
)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_default_is_of_settings_that_the_system_takes(system: str) -> None:
    space = default_space(system)
    assert check_space(system, space, {}) == space
    kind = find(system)
    for place in (0, -1):
        ends = {name: one.ends[place] for name, one in space.items()}
        made = kind(**ends)
        if isinstance(made, NeuralClassifier):
            made._training_config(8)
            assert network_size(made, 8, 2).network > 0
        else:
            kind.config_type(**ends)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_search_begins_where_the_system_stands(system: str) -> None:
    space = default_space(system)
    made = find(system)()
    used = made.get_params(deep=False)
    if isinstance(made, NeuralClassifier):
        used |= made.open_settings(300)
    assert started_at(space, used) == {name: used[name] for name in space}


def test_what_is_fixed_is_not_searched() -> None:
    assert "dropout" not in default_space("adasent", {"dropout": 0.1})
    assert "encoder_rate" not in default_space("adasent")
    assert "encoder_rate" in default_space("adasent", {"tune_encoder": True})
    assert "tokenizer" not in searchable("adasent")
    assert "windows" not in searchable("cnn")


@pytest.mark.parametrize(
    ("space", "fixed", "message"),
    [
        ({}, {}, "at least one setting"),
        ({"dropuot": Range(0.0, 0.5)}, {}, r"no setting 'dropuot'; did you mean 'dropout'\?"),
        ({"random_state": Range(0, 5)}, {}, "cannot be searched"),
        ({"dropout": Range(0.0, 0.5)}, {"dropout": 0.1}, "given as 0.1 too"),
        ({"dropout": Range(0.5, 0.5)}, {}, "low < high"),
        ({"dropout": Range(0.0, 2.0)}, {}, "dropout must be a number from 0 to 0.95; got 2"),
        ({"dropout": Range(0.0, 0.5, log=True)}, {}, "starts above 0"),
        ({"dropout": Choice((0.5, 0.5))}, {}, "distinct values"),
        ({"hidden_size": Range(10.0, 20.0)}, {}, "whole numbers"),
        ({"pooling": Range(0, 1)}, {}, "pooling must be one of"),
        ({"fine_tune": Range(0, 1)}, {}, "fine_tune must be True or False|it is no number"),
        ({"pooling": Choice(("mean", "median"))}, {}, "pooling must be one of"),
    ],
)
def test_what_is_refused(space: Any, fixed: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_space("adasent", space, fixed)


def test_ends_have_the_type_of_the_setting() -> None:
    (found,) = check_space("adasent", {"dropout": Range(0, 0.5)}, {}).values()
    assert isinstance(found, Range)
    assert isinstance(found.low, float)
    assert not found.is_whole
    assert started_at({"dropout": Range(0.0, 0.5)}, {"dropout": 0.7}) is None
