"""BLAS gets as many threads as asked for, for the length of a block."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from adasent.runtime import threads
from adasent.runtime.threads import blas_threads

assert np.zeros(1).size  # numpy's BLAS must be loaded to be found


def test_threads_are_limited_and_given_back() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def count() -> set[int]:
        found = threadpoolctl.threadpool_info()
        return {one["num_threads"] for one in found if one["user_api"] == "blas"}

    before = count()
    for n in (1, 2):
        with blas_threads(n):
            assert count() == {n}
    assert count() == before


def test_without_threadpoolctl_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    threads._controller.cache_clear()
    try:
        with blas_threads(1):
            assert threads._controller() is None
    finally:
        threads._controller.cache_clear()
