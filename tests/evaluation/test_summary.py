"""Mean, spread and interval."""

from __future__ import annotations

import pytest

from adasent.errors import DataError
from adasent.evaluation.summary import summarise


def test_by_hand() -> None:
    total = summarise([1.0, 2.0, 3.0])
    # Student's t at 97.5 % with two degrees of freedom is 4.3027.
    half = 4.302653 / 3**0.5
    assert (total.n, total.mean, total.sd) == (3, 2.0, 1.0)
    assert total.low == pytest.approx(2 - half, abs=1e-5)
    assert total.high == pytest.approx(2 + half, abs=1e-5)


def test_one_run_has_no_spread() -> None:
    total = summarise([0.5])
    assert (total.mean, total.sd, total.low, total.high) == (0.5, None, None, None)


def test_none() -> None:
    with pytest.raises(DataError):
        summarise([])
