"""Batches: what is computed together, in which order, and who is told what."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from threading import Event, current_thread
from typing import Any

import pytest

from adasent.serve.batching import Batcher, FairQueue


class Upper:
    """Work that answers with capitals; ``!`` marks a text that fails, ``?`` an odd one."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.threads: list[str] = []
        self.taken = Event()
        self.free = Event()
        self.free.set()

    def prepare(self, text: str) -> tuple[str, int]:
        if text == "?":
            raise ValueError("odd")
        return text, int(text.split("=")[1]) if "=" in text else 0

    def run(self, prepared: Sequence[str]) -> list[str]:
        self.taken.set()
        self.free.wait(5)
        self.batches.append(list(prepared))
        self.threads.append(current_thread().name)
        if "!" in prepared:
            raise ZeroDivisionError("!")
        return [text.upper() for text in prepared]


def play(scene: Callable[[Batcher], Awaitable[None]], **settings: Any) -> None:
    """Run a scene with a batcher, and stop it."""

    async def whole() -> None:
        batcher = Batcher(**settings)
        batcher.start()
        try:
            async with asyncio.timeout(10):
                await scene(batcher)
        finally:
            await batcher.stop(RuntimeError("stopped"))
        assert not batcher.alive

    asyncio.run(whole())


async def held(batcher: Batcher, work: Upper) -> asyncio.Task[list[str]]:
    """Keep the quick lane busy with one text until ``work.free`` is set."""
    work.free.clear()
    first = asyncio.ensure_future(batcher.run(work, ["first"]))
    await asyncio.sleep(0)  # it is put into the queue
    assert await asyncio.to_thread(work.taken.wait, 5)
    return first


def test_results_come_in_the_order_of_the_texts() -> None:
    async def scene(batcher: Batcher) -> None:
        assert await batcher.run(Upper(), ["b", "a", "c"]) == ["B", "A", "C"]

    play(scene)


def test_what_waits_is_computed_together_and_in_turns() -> None:
    work = Upper()
    seen: list[int] = []

    async def scene(batcher: Batcher) -> None:
        first = await held(batcher, work)
        others = [
            asyncio.ensure_future(batcher.run(work, texts))
            for texts in (["a1", "a2", "a3"], ["b1"], ["c1"])
        ]
        await asyncio.sleep(0)
        work.free.set()
        assert await asyncio.gather(first, *others) == [
            ["FIRST"],
            ["A1", "A2", "A3"],
            ["B1"],
            ["C1"],
        ]

    play(scene, observe=lambda n_texts, seconds: seen.append(n_texts))
    assert work.batches == [["first"], ["a1", "b1", "c1", "a2", "a3"]]
    assert seen == [1, 5]


def test_a_batch_is_closed_at_its_cost() -> None:
    work = Upper()

    async def scene(batcher: Batcher) -> None:
        await batcher.run(work, ["a=40", "b=40", "c=40", "d=40"])

    play(scene, batch_cost=80)
    assert work.batches == [["a=40", "b=40"], ["c=40", "d=40"]]


def test_costly_texts_have_a_lane_of_their_own() -> None:
    work = Upper()

    async def scene(batcher: Batcher) -> None:
        slow = Upper()
        slow.free.clear()
        waiting = asyncio.ensure_future(batcher.run(slow, ["x=900", "y=900"]))
        for _ in range(3):  # answered while the slow one holds its lane
            assert await batcher.run(work, ["a"]) == ["A"]
        assert not waiting.done()
        slow.free.set()
        assert await waiting == ["X=900", "Y=900"]
        assert slow.batches == [["x=900"], ["y=900"]]
        assert set(slow.threads) == {"adasent-slow"}

    play(scene, batch_cost=500)
    assert set(work.threads) == {"adasent-quick"}


@pytest.mark.parametrize(("text", "error"), [("!", ZeroDivisionError), ("?", ValueError)])
def test_an_error_is_told_to_the_one_who_asked_and_no_other(
    text: str, error: type[Exception]
) -> None:
    work = Upper()

    async def scene(batcher: Batcher) -> None:
        first = await held(batcher, work)
        good, bad = (asyncio.ensure_future(batcher.run(work, [t, t])) for t in ("a", text))
        await asyncio.sleep(0)
        work.free.set()
        assert await first == ["FIRST"]
        assert await good == ["A", "A"]
        with pytest.raises(error):
            await bad
        assert batcher.alive

    play(scene)


def test_a_cancelled_request_is_not_computed() -> None:
    work = Upper()

    async def scene(batcher: Batcher) -> None:
        first = await held(batcher, work)
        gone = asyncio.ensure_future(batcher.run(work, ["gone"]))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        work.free.set()
        await first
        assert await batcher.run(work, ["next"]) == ["NEXT"]

    play(scene)
    assert [text for batch in work.batches for text in batch] == ["first", "next"]


def test_who_waits_is_told_when_all_is_abandoned() -> None:
    work = Upper()

    async def scene(batcher: Batcher) -> None:
        first = await held(batcher, work)
        waiting = asyncio.ensure_future(batcher.run(work, ["waiting"]))
        await asyncio.sleep(0)
        batcher.abandon(RuntimeError("no more"))
        for each in (first, waiting):
            with pytest.raises(RuntimeError, match="no more"):
                await each
        with pytest.raises(RuntimeError, match="no more"):
            await batcher.run(work, ["too late"])
        work.free.set()

    play(scene)


def drain(queue: FairQueue[str]) -> list[str]:
    found = []
    while queue:
        found.append(queue.pop())
    return found


def test_one_item_a_turn_however_much_an_owner_has() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("big", [("b1", 1), ("b2", 1), ("b3", 1)])
    queue.put("small", [("s1", 1)])
    queue.put("other", [("o1", 1), ("o2", 1)])
    assert drain(queue) == ["b1", "s1", "o1", "b2", "o2", "b3"]


def test_an_owner_that_adds_keeps_its_turn_and_its_order() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("a", [("a1", 1)])
    queue.put("b", [("b1", 1)])
    queue.put("a", [("a2", 1)])
    assert drain(queue) == ["a1", "b1", "a2"]


def test_a_heavy_item_waits_for_as_many_turns_of_the_others_and_no_longer() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("long", [("long", 3)])
    found = []
    for turn in range(5):  # whose clients ask again as soon as they have an answer
        queue.put(f"a{turn}", [(f"a{turn}", 1)])
        queue.put(f"b{turn}", [(f"b{turn}", 1)])
        found += [queue.pop(), queue.pop()]
    assert found[:4] == ["a0", "b0", "a1", "b1"]
    assert found.index("long") in (4, 5, 6)
    assert drain(queue)


def test_short_texts_do_not_wait_for_many_long_ones() -> None:
    """Each long one fills a batch of its own; in the order of arrival the short one came last."""
    work = Upper()

    async def scene(batcher: Batcher) -> None:
        first = await held(batcher, work)
        words = "word " * 300
        long = [
            asyncio.ensure_future(batcher.run(work, [f"{words}{i} cost=9000"])) for i in range(20)
        ]
        await asyncio.sleep(0)
        short = asyncio.ensure_future(batcher.run(work, ["short"]))
        await asyncio.sleep(0)
        work.free.set()
        assert await short == ["SHORT"]
        await asyncio.gather(first, *long)

    play(scene, batch_cost=9000)
    assert work.batches[1][0] == "short"


def test_an_empty_queue() -> None:
    queue: FairQueue[str] = FairQueue()
    assert not queue
    with pytest.raises(IndexError):
        queue.pop()
