"""Makes runs and gives their records in order, each on disk before it is shown.

- Jobs whose record the store holds are not run again. Each of the others is claimed for as long as
  it goes on, so that several processes can share the work; what another process is at comes when it
  has finished.
- Networks are trained as stacks: as many as the device has room for, and half as many where the
  memory does not do. The models are those of single trainings; only their time differs.
- After Ctrl-C or a kill, the finished runs are in the store and the same call goes on from there.

:func:`adasent.evaluation.jobs.train_group` is where another executor could take hold: it is given
jobs and returns records, and knows neither store nor claims, so that it can run in another process
or on another machine.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

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
    jobs: Sequence[Job], store: RecordStore | None = None, *, stack: int | None = None
) -> Iterator[Result]:
    """Run what the store does not have.

    Parameters
    ----------
    jobs
        Best ordered so that those of one system and corpus follow each other.
    stack
        How many networks are trained as one; None is :func:`stack_size`.

    Yields
    ------
    Each job with its record, in the order of the jobs; those that another process was at come
    after the others.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when the runs that were finished by then are in the store.
    """
    done = {} if store is None else store.find(jobs)
    new: set[str] = set()
    waiting = list(jobs)
    while waiting:
        later = []
        for i, job in enumerate(waiting):
            if job.key not in done:
                size = (stack or stack_size()) if job.is_network else 1
                found = _run_group(_alike(waiting[i:], done, size), store, size)
                new |= found.keys()
                done |= found
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


def _alike(jobs: Sequence[Job], done: Mapping[str, FoldRecord], size: int) -> list[Job]:
    """The first job and those to be trained with it, as far as the stack has room."""

    def kind(job: Job) -> Hashable:
        return job.corpus.sha256, job.rule, job.system

    alike = {
        job.key: job for job in jobs if kind(job) == kind(jobs[0]) and job.key not in done
    }  # a job may be asked for twice
    return list(alike.values())[: max(1, size // len(jobs[0].settings))]


def _run_group(jobs: list[Job], store: RecordStore | None, size: int) -> dict[str, FoldRecord]:
    """Run those jobs that nobody else is at or has finished, and add their records to the store."""
    with ExitStack() as claims:
        if store is not None:
            jobs = [job for job in jobs if claims.enter_context(store.claim(job))]
            finished = store.find(jobs)  # by another process, a moment ago
            jobs = [job for job in jobs if job.key not in finished]
        if not jobs:
            return {}
        records = train_group(jobs, size)
        found = [record for record in records if record is not None]
        if store is not None:
            found = [store.add(record) for record in found]
    if None in records:
        raise KeyboardInterrupt
    return {record.key: record for record in found}
