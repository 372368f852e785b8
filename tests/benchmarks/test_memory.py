"""The high-water mark sees what was touched, also when it was freed before the end."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.memory import RESET, peak_mb, rise

pytestmark = pytest.mark.skipif(not RESET.exists(), reason="peak memory is read from /proc")


def test_sees_memory_that_was_freed_again() -> None:
    assert rise(lambda: np.ones(5_000_000)) == pytest.approx(40, rel=0.1)
    assert rise(lambda: None) < 1


def test_a_failing_task_shows_its_own_error() -> None:
    with pytest.raises(RuntimeError, match="KeyError"):
        peak_mb("nonsense")
