"""Functions compile whether or not the result can be kept; tanh and exp are as near as they say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from adasent.pyramid import compiling  # noqa: E402
from adasent.pyramid.compiling import compiled  # noqa: E402
from adasent.pyramid.lanes import WIDTH, at, exp, load, store, tanh  # noqa: E402


def double(x: Any) -> Any:
    return 2 * x


def test_without_a_folder_to_write_to_it_still_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    njit, asked = numba.njit, []

    def refuse_to_keep(*, cache: bool = False, **options: Any) -> Any:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    # Its own name for numba alone: numba compiles functions of its own on the way.
    monkeypatch.setattr(compiling, "numba", SimpleNamespace(njit=refuse_to_keep))
    assert compiling.compiled(double)(3) == 6
    assert asked == [True, False]


@compiled
def tanh_of(values: Any, out: Any) -> None:
    for i in range(0, len(values), WIDTH):
        n = min(len(values) - i, WIDTH)
        store(at(out, i), 0, n, tanh(load(at(values, i), 0, n)))


@compiled
def exp_of(values: Any) -> None:
    for i in range(0, len(values), WIDTH):
        n = min(len(values) - i, WIDTH)
        store(at(values, i), 0, n, exp(load(at(values, i), 0, n)))


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
    values = np.linspace(-79, 79, 200_001).astype(np.float32)
    expected = np.exp(values.astype(np.float64))
    exp_of(values)
    assert np.abs(values / expected - 1).max() < 1e-5
    assert values[100_000] == pytest.approx(1, abs=1e-7)


def test_exp_far_out_stays_finite() -> None:
    for dtype in (np.float32, np.float64):
        values = np.array([-1e3, -1e30, -np.inf, 1e3, 1e30, np.inf], dtype=dtype)
        exp_of(values)
        assert (values > 0).all()
        assert values[:3].max() < 1e-34
        assert np.isfinite(4 * values).all()
        assert values[3:].min() > 1e34


def test_double_precision_is_the_library_s() -> None:
    values = np.linspace(-5, 5, 101)
    found = np.empty_like(values)
    tanh_of(values, found)
    np.testing.assert_allclose(found, np.tanh(values), rtol=1e-15)
    expected = np.exp(values)
    exp_of(values)
    np.testing.assert_allclose(values, expected, rtol=1e-15)
