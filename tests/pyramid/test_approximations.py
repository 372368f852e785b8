"""tanh and exp of compiled code: as near as they say in single precision, exact in double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from adasent.pyramid.approximations import exp, tanh
from adasent.pyramid.compiling import compiled


@compiled
def tanh_of(values: Any, out: Any) -> None:
    for i in range(len(values)):
        out[i] = tanh(values[i])


@compiled
def exp_of(values: Any) -> None:
    exp(values)


def test_tanh_in_single_precision() -> None:
    values = np.concatenate([np.linspace(-12, 12, 200_001), np.geomspace(1e-30, 1, 1000)])
    values = values.astype(np.float32)
    found = np.empty_like(values)
    tanh_of(values, found)
    expected = np.tanh(values.astype(np.float64))
    assert np.abs(found - expected).max() < 5e-7
    inner = (np.abs(values) < 1) & (values != 0)
    assert np.abs(found[inner] / expected[inner] - 1).max() < 1e-6
    assert np.abs(found).max() <= 1


def test_exp_in_single_precision() -> None:
    values = np.linspace(-87, 0, 200_001).astype(np.float32)
    expected = np.exp(values.astype(np.float64))
    exp_of(values)
    assert np.abs(values / expected - 1).max() < 1e-5
    assert values[-1] == pytest.approx(1, abs=1e-7)


def test_exp_far_below_is_next_to_nothing() -> None:
    values = np.array([-200.0, -1e30, -np.inf], dtype=np.float32)
    exp_of(values)
    assert (values >= 0).all()
    assert values.max() < 2e-38


def test_double_precision_is_the_library_s() -> None:
    values = np.linspace(-5, 0, 101)
    found = np.empty_like(values)
    tanh_of(values, found)
    np.testing.assert_allclose(found, np.tanh(values), rtol=1e-15)
    expected = np.exp(values)
    exp_of(values)
    np.testing.assert_allclose(values, expected, rtol=1e-15)
