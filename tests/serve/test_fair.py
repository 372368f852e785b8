"""Owners of a fair queue take turns."""

from __future__ import annotations

import pytest

from adasent.serve.fair import FairQueue


def drain(queue: FairQueue[str]) -> list[str]:
    found = []
    while queue:
        found.append(queue.pop())
    return found


def test_one_item_a_turn_however_much_an_owner_has() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("big", ["b1", "b2", "b3"])
    queue.put("small", ["s1"])
    queue.put("other", ["o1", "o2"])
    assert drain(queue) == ["b1", "s1", "o1", "b2", "o2", "b3"]


def test_an_owner_that_adds_keeps_its_turn_and_its_order() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("a", ["a1"])
    queue.put("b", ["b1"])
    queue.put("a", ["a2"])
    assert drain(queue) == ["a1", "b1", "a2"]


def test_empty() -> None:
    queue: FairQueue[str] = FairQueue()
    assert not queue
    with pytest.raises(IndexError):
        queue.pop()
