"""Computes the texts of concurrent requests together, in turns, in worker threads.

No request waits for a batch to fill up: a batch is what came while the last one was computed. It is
closed at a cost, so that none takes long. Who waits is served by turns, and a text of ten long
sentences waits for ten turns: so neither a request of a thousand texts nor many of long ones hold
up those of a short text, and none waits for ever. A text too long for a batch goes to a thread of
its own kind, the slow lane, and so does every explanation; where the system can, that thread gives
way to the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread, get_native_id
from typing import Any, Generic, Protocol, TypeVar

Queued = TypeVar("Queued")

#: Cost at which a batch is closed, in squared words: 60 sentences of 22 words, some hundredth of a
#: second. A text that costs more alone, from about 170 words on, is for the slow lane.
BATCH_COST = 30_000
#: A text's part of a turn, in characters: at least, so that all sentences are alike, and at most
#: before it is known what it costs.
_LEAST, _MOST = 300, 1100
#: By how much the slow lane gives way to others, as ``nice`` counts.
_NICE = 5


class Work(Protocol):
    """What is done with a text, in two steps, both in a worker thread."""

    def prepare(self, text: str) -> tuple[Any, int]:
        """What :meth:`run` needs to know of a text, and what it will cost in squared words."""

    def run(self, prepared: Sequence[Any]) -> Sequence[Any]:
        """A result for each prepared text."""


class Batcher:
    """Does the work of requests in two threads.

    Used from one event loop; only the computing itself is done elsewhere.

    Parameters
    ----------
    observe
        Told of each batch, in the event loop: its number of texts, and how many seconds it took.
    batch_cost
        Cost at which a batch is closed.
    """

    def __init__(
        self, observe: Callable[[int, float], None] | None = None, batch_cost: int = BATCH_COST
    ) -> None:
        self._observe = observe
        self._jobs: set[Job] = set()
        self._given_up: Exception | None = None
        slow = _Lane("adasent-slow", self._deliver, batch_cost)
        self._lanes = [_Lane("adasent-quick", self._deliver, batch_cost, slow), slow]

    def start(self) -> None:
        """Begin to compute, for the running event loop."""
        self._loop = asyncio.get_running_loop()
        for lane in self._lanes:
            lane.start()

    @property
    def alive(self) -> bool:
        """Whether all threads run."""
        return all(lane.is_alive() for lane in self._lanes)

    async def run(self, work: Work, texts: Sequence[str]) -> list[Any]:
        """The result of the work for each text; cancelling it drops what is not yet computed.

        Raises what the work raised for one of the texts, or what :meth:`abandon` was given.
        """
        return await self.submit(work, texts).results()

    def submit(self, work: Work, texts: Sequence[str]) -> Job:
        """As :meth:`run`, for those who may want to fail the job before it is done."""
        if self._given_up is not None:  # it was accepted before, but its body came too late
            raise self._given_up
        job = Job(self._loop.create_future(), work, texts)
        self._jobs.add(job)
        job.done.add_done_callback(lambda _: self._jobs.discard(job))
        self._lanes[0].put(job, job.items)
        return job

    def abandon(self, error: Exception) -> None:
        """Give up what is not computed yet: everyone who waits, or still comes, gets the error."""
        self._given_up = error
        for job in list(self._jobs):
            job.fail(error)

    async def stop(self, error: Exception) -> None:
        """Abandon what waits and end the threads."""
        self.abandon(error)
        for lane in self._lanes:
            lane.close()
        for lane in self._lanes:
            await asyncio.to_thread(lane.join)

    def _deliver(self, batch: Sequence[_Item], seconds: float) -> None:
        """Hand over from a worker to the event loop, once a batch."""
        self._loop.call_soon_threadsafe(self._settle, batch, seconds)

    def _settle(self, batch: Sequence[_Item], seconds: float) -> None:
        for item in batch:
            item.job.settle(item.outcome)
        if self._observe is not None:
            self._observe(len(batch), seconds)


class Job:
    """The texts of one request. Changed in the event loop only; workers look whether it is done."""

    def __init__(self, done: asyncio.Future[None], work: Work, texts: Sequence[str]) -> None:
        self.done = done
        self.items = [_Item(self, work, text) for text in texts]
        self._n_left = len(texts)

    async def results(self) -> list[Any]:
        """What came of each text; raises what the job failed with."""
        await self.done
        return [item.outcome for item in self.items]

    def settle(self, outcome: Any) -> None:
        """One more text is done."""
        if isinstance(outcome, Exception):
            self.fail(outcome)
            return
        self._n_left -= 1
        if not self._n_left and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """Give up what is not done; who waits for the results gets the error."""
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(eq=False)
class _Item:
    """A text of a job, on its way."""

    job: Job
    work: Work
    text: str
    prepared: Any = None
    cost: int = 0  # not known until prepared
    outcome: Any = None  # a result or an exception, at the end of the way

    def prepare(self) -> None:
        if not self.cost:
            self.prepared, cost = self.work.prepare(self.text)
            # Reading a text takes time too, about as long for a character as for a squared word.
            self.cost = cost + len(self.text) + 1

    @property
    def weight(self) -> int:
        """Its part of a turn: about its length, at least that of a short sentence."""
        size = 5 * math.isqrt(self.cost) if self.cost else min(len(self.text), _MOST)
        return max(_LEAST, size)


class _Lane(Thread):
    """A worker: takes texts in turns, computes them together."""

    def __init__(
        self,
        name: str,
        deliver: Callable[[Sequence[_Item], float], None],
        batch_cost: int,
        slow: _Lane | None = None,
    ) -> None:
        # A daemon, so that a computation that never ends cannot keep the process from ending.
        super().__init__(name=name, daemon=True)
        self._deliver = deliver
        self._batch_cost = batch_cost
        self._slow = slow
        self._queue: FairQueue[_Item] = FairQueue()
        self._changed = Condition()
        self._closed = False

    def put(self, job: Job, items: Iterable[_Item]) -> None:
        with self._changed:
            self._queue.put(job, [(item, item.weight) for item in items])
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def run(self) -> None:
        if self._slow is None:
            _give_way()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
            start = time.perf_counter()
            batch = self._gather()
            _compute(batch)
            if batch:
                self._deliver(batch, time.perf_counter() - start)

    def _gather(self) -> list[_Item]:
        """Texts for a batch; those that could not be prepared have their outcome already."""
        batch: list[_Item] = []
        cost = 0
        while cost < self._batch_cost and (item := self._next()) is not None:
            if item.job.done.done():  # the client is gone, or another text failed
                continue
            try:
                item.prepare()
            except Exception as error:  # whatever it is, the one who asked is told
                item.outcome = error
            if self._slow is not None and item.cost > self._batch_cost:
                self._slow.put(item.job, [item])
                cost += len(item.text)
            else:
                batch.append(item)
                cost += item.cost or len(item.text)
        return batch

    def _next(self) -> _Item | None:
        with self._changed:
            return self._queue.pop() if self._queue else None


def _compute(batch: Sequence[_Item]) -> None:
    """Give each prepared text its outcome."""
    prepared = [item for item in batch if item.outcome is None]
    for work in dict.fromkeys(item.work for item in prepared):
        items = [item for item in prepared if item.work is work]
        for item, outcome in zip(items, _attempt(work, items), strict=True):
            item.outcome = outcome


def _attempt(work: Work, items: Sequence[_Item]) -> Sequence[Any]:
    try:
        return work.run([item.prepared for item in items])
    except Exception as error:
        if len(items) == 1:
            return [error]
        # One text must not fail those of others that happened to come at the same time.
        return [outcome for item in items for outcome in _attempt(work, [item])]


def _give_way() -> None:
    """Let other threads have the processor first; only Linux has priorities of threads."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # it is no less right without
            os.setpriority(os.PRIO_PROCESS, get_native_id(), _NICE)


class FairQueue(Generic[Queued]):
    """Owners by turns: each time the item that, with what its owner had before, weighs least.

    Of equal items each owner has one a turn, first come, first served. An item of ten times the
    weight waits for ten turns of the others.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[tuple[Queued, int]]] = {}
        self._turns: list[tuple[int, int, Hashable]] = []  # a heap: when, arrival, whose
        self._now = 0  # when the last item had its turn
        self._n_turns = 0

    def __bool__(self) -> bool:
        return bool(self._turns)

    def put(self, owner: Hashable, items: Iterable[tuple[Queued, int]]) -> None:
        """Add items, each with its weight; an owner that waits already keeps its turn."""
        waits = owner in self._waiting
        queue = self._waiting.setdefault(owner, deque())
        queue.extend(items)
        if not waits:
            self._take_turn(owner, queue)

    def pop(self) -> Queued:
        """The next item; raises IndexError if there is none."""
        if not self:
            raise IndexError("nothing waits")
        self._now, _, owner = heapq.heappop(self._turns)
        queue = self._waiting[owner]
        item, _ = queue.popleft()
        self._take_turn(owner, queue)
        return item

    def _take_turn(self, owner: Hashable, queue: deque[tuple[Queued, int]]) -> None:
        if queue:
            self._n_turns += 1
            heapq.heappush(self._turns, (self._now + queue[0][1], self._n_turns, owner))
        else:
            del self._waiting[owner]
