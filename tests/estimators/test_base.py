"""A random state of any kind becomes a seed."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.errors import ConfigError
from adasent.estimators.base import check_labels, seed_from


@pytest.mark.parametrize("value", [0, 7, np.int32(7), 2**32 - 1])
def test_a_whole_number_is_its_own_seed(value: int) -> None:
    seed = seed_from(value, 2**32 - 1)
    assert seed == value
    assert type(seed) is int


@pytest.mark.parametrize("value", [-1, 2**32])
def test_out_of_range(value: int) -> None:
    with pytest.raises(ConfigError, match="random_state"):
        seed_from(value, 2**32 - 1)


def test_a_generator_is_drawn_from() -> None:
    state = np.random.RandomState(0)
    first, second = seed_from(state, 10), seed_from(state, 10)
    assert first != second
    assert first == seed_from(np.random.RandomState(0), 10)


@pytest.mark.parametrize("value", ["1", 1.5])
def test_neither_number_nor_generator(value: object) -> None:
    with pytest.raises(ValueError, match="cannot be used to seed"):
        seed_from(value, 10)  # type: ignore[arg-type]


def test_whole_numbers_in_an_array_of_objects_are_labels() -> None:
    found = check_labels(np.array([3, 1, 3], dtype=object))
    assert found.tolist() == [3, 1, 3]
