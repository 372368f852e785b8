"""Lanes touch the numbers they are told to and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from numba.core.errors import TypingError

from adasent.pyramid.compiling import compiled
from adasent.pyramid.lanes import WIDTH, at, load, number, splat, store


@compiled
def double(values: Any, out: Any, first: int, n: Any) -> None:
    store(at(out, first), 0, n, load(at(values, 0), first, n) * splat(number(at(values, 0), 2)))


@compiled
def arithmetic(a: Any, b: Any, out: Any) -> None:
    x, y = load(at(a, 0), 0, None), load(at(b, 0), 0, None)
    results = x + y, x - y, x * y, x / y, min(x, y), max(x, y)
    for i in range(len(results)):
        store(at(out, i * WIDTH), 0, None, results[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [None, 0, 1, 5, WIDTH, WIDTH + 7])
def test_the_first_n_numbers_are_read_and_written(dtype: Any, n: int | None) -> None:
    values = np.arange(40, dtype=dtype).reshape(4, 10)  # 2 at place 2
    out = np.full_like(values, -1)
    double(values, out, 3, n)
    expected = np.full(40, -1.0)
    stop = 3 + min(WIDTH if n is None else n, WIDTH)
    expected[3:stop] = 2 * np.arange(3, stop)
    np.testing.assert_array_equal(out.ravel(), expected)


def test_numbers_that_do_not_follow_each_other_are_refused() -> None:
    values = np.zeros((4, 20), dtype=np.float32)
    with pytest.raises(TypingError, match="follow each other"):
        double(values, values.T, 0, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arithmetic_is_numpy_s(dtype: Any) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, WIDTH)).astype(dtype)
    out = np.empty((6, WIDTH), dtype=dtype)
    arithmetic(a, b, out)
    expected = [a + b, a - b, a * b, a / b, np.minimum(a, b), np.maximum(a, b)]
    np.testing.assert_allclose(out, expected, rtol=1e-6)
