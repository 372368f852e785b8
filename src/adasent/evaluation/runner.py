"""Makes runs and gives their records in order, each on disk before it is shown.

- Jobs whose record the store holds are not run again. Each of the others is claimed for as long as
  it goes on, so that several processes can share the work; what another process is at comes when it
  has finished.
- An executor says where the training goes on (:mod:`adasent.evaluation.executors`). Stores and
  claims are the business of the process that drives, whoever does the work: so a record is written
  once, and a worker that dies costs a training and nothing else.
- Networks are trained as stacks: as many as the device has room for, and half as many where the
  memory does not do. The models are those of single trainings; only their time differs.
- After Ctrl-C or a kill, the finished runs are in the store and the same call goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Hashable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

from adasent.evaluation.executors import Executor, ThisProcess
from adasent.evaluation.jobs import Job, train_group
from adasent.evaluation.records import FoldRecord
from adasent.evaluation.store import RecordStore

#: Networks trained as one on CUDA, at most: more add little speed.
MAX_STACK = 60
#: Memory of the device that a network of a stack is reckoned with, before anything is known of it.
BYTES_PER_NETWORK = 2**30
#: Seconds between two looks at what other processes have finished.
POLL_SECONDS = 1.0


class Result(NamedTuple):
    """A job with its record, and whether it was run now rather than read."""

    job: Job
    record: FoldRecord
    is_new: bool


def run_jobs(
    jobs: Sequence[Job],
    store: RecordStore | None = None,
    *,
    stack: int | None = None,
    executor: Executor | None = None,
) -> Iterator[Result]:
    """Run what the store does not have.

    Parameters
    ----------
    jobs
        Best ordered so that those of one system and corpus follow each other.
    stack
        How many networks are trained as one; None is :func:`stack_size`.
    executor
        Where they are trained; None is in this process, one after the other.

    Yields
    ------
    Each job with its record, in the order of the jobs; those that another process was at come
    after the others. With several workers a record may be in the store before it is its turn.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when the runs that were finished by then are in the store.
    """
    executor = executor or ThisProcess()
    done = {} if store is None else store.find(jobs)
    new: set[str] = set()
    waiting = list(jobs)
    while waiting:
        later = []
        share = _Share(waiting, done, store, stack, executor)
        with closing(share.run()) as running:
            for job in waiting:
                while job.key not in done and job.key not in share.elsewhere:
                    new |= next(running, set())  # none: it was done elsewhere by now
                if job.key in done:
                    yield Result(job, done[job.key], job.key in new)
                else:
                    later.append(job)
        waiting = later
        if waiting:
            assert store is not None
            time.sleep(POLL_SECONDS)
            done |= store.find(waiting)


def stack_size() -> int:
    """How many networks are trained as one here; on the CPU one, where more are not faster."""
    import torch

    if not torch.cuda.is_available():
        return 1
    free, _ = torch.cuda.mem_get_info()
    return max(1, min(MAX_STACK, free // BYTES_PER_NETWORK))


class _Group(NamedTuple):
    """Jobs that are trained as one, by their place; what a worker is told."""

    places: tuple[int, ...]
    size: int  # of the stack


def _train(jobs: Sequence[Job], group: _Group) -> list[FoldRecord | None]:
    return train_group([jobs[i] for i in group.places], group.size)


class _Share:
    """What this process has to do of the jobs that are not done: all that nobody else is at."""

    def __init__(
        self,
        jobs: Sequence[Job],
        done: dict[str, FoldRecord],
        store: RecordStore | None,
        stack: int | None,
        executor: Executor,
    ) -> None:
        self.jobs, self.done, self.store = jobs, done, store
        self.stack, self.executor = stack, executor
        self.elsewhere: set[str] = set()  # keys of those that another process has claimed
        self._begun: set[str] = set()
        self._claims: dict[_Group, ExitStack] = {}

    def run(self) -> Generator[set[str]]:
        """The keys of records as they come in, when they are done and on disk."""
        groups = self.executor.run(_train, self.jobs, self._groups())
        try:
            with closing(groups):
                for group, records in groups:
                    found = [record for record in records if record is not None]
                    if self.store is not None:
                        found = [self.store.add(record) for record in found]
                    self.done |= {record.key: record for record in found}
                    self._claims.pop(group).close()
                    if None in records:
                        raise KeyboardInterrupt
                    yield {record.key for record in found}
        finally:
            for claims in self._claims.values():
                claims.close()

    def _groups(self) -> Iterator[_Group]:
        """What to train next, claimed; taken whenever a worker is free."""
        for i, job in enumerate(self.jobs):
            if not self._is_open(job):
                continue
            size = self._size(job)
            alike = self._alike(i)[: max(1, size // len(job.settings))]
            claims = ExitStack()
            mine = self._claim(alike, claims)
            if not mine:
                claims.close()
                continue
            group = _Group(tuple(mine), size)
            self._claims[group] = claims
            self._begun |= {self.jobs[place].key for place in mine}
            yield group

    def _is_open(self, job: Job) -> bool:
        return not any(job.key in keys for keys in (self.done, self._begun, self.elsewhere))

    def _size(self, job: Job) -> int:
        if not job.is_network:
            return 1
        if self.stack is None:
            self.stack = self.executor.ask(stack_size)
        return self.stack

    def _alike(self, first: int) -> list[int]:
        """Places of a job and of those that can be trained with it."""

        def kind(job: Job) -> Hashable:
            return job.corpus.sha256, job.rule, job.system

        wanted = kind(self.jobs[first])
        places = {
            job.key: place
            for place, job in reversed(list(enumerate(self.jobs)))
            if place >= first and kind(job) == wanted and self._is_open(job)
        }  # a job may be asked for twice
        return sorted(places.values())

    def _claim(self, places: list[int], claims: ExitStack) -> list[int]:
        """Those of the jobs that are ours to run: nobody else is at them, or has finished them."""
        if self.store is None:
            return places
        mine = []
        for place in places:
            job = self.jobs[place]
            if claims.enter_context(self.store.claim(job)):
                mine.append(place)
            else:
                self.elsewhere.add(job.key)
        self.done |= self.store.find([self.jobs[place] for place in mine])  # a moment ago
        return [place for place in mine if self.jobs[place].key not in self.done]
