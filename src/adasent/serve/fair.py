"""A queue in which owners take turns, however much each of them has put in."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """First come, first served, but one item a turn: who has more goes to the end again."""

    def __init__(self) -> None:
        self._turns: deque[Hashable] = deque()
        self._items: dict[Hashable, deque[Item]] = {}

    def __bool__(self) -> bool:
        return bool(self._turns)

    def put(self, owner: Hashable, items: Iterable[Item]) -> None:
        """Add items; an owner that waits already keeps its turn."""
        waiting = self._items.get(owner)
        if waiting is None:
            waiting = self._items[owner] = deque()
            self._turns.append(owner)
        waiting.extend(items)

    def pop(self) -> Item:
        """The next item; raises IndexError if there is none."""
        owner = self._turns.popleft()
        waiting = self._items[owner]
        item = waiting.popleft()
        if waiting:
            self._turns.append(owner)
        else:
            del self._items[owner]
        return item
