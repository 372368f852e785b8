"""Contenders take turns; slopes are slopes."""

from __future__ import annotations

import pytest

from benchmarks.timing import exponent, take_turns


def test_each_contender_warms_up_then_all_take_turns() -> None:
    order: list[str] = []
    seconds = take_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert {name: values.shape for name, values in seconds.items()} == {"a": (3,), "b": (3,)}
    assert all((values >= 0).all() for values in seconds.values())


def test_exponent_of_a_power() -> None:
    sizes = [2.0, 4.0, 8.0]
    assert exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)
