"""Where work is done: tasks in, results out as they finish; in this process or in others.

An executor is given a function, what all tasks share (texts, vectors, settings) and the tasks. What
is shared travels once to each worker, not with each task. Tasks are taken one at a time, when a
worker is free, and a result is handed over before the next task is taken: so what is to be done
next may depend on what has been found. Ray's is :mod:`adasent.distributed.executor`.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from adasent.checks import check_integer
from adasent.errors import AdaSentError, AdaSentWarning, LostWorkerError

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Found = TypeVar("Found")

#: How often a task is begun whose worker dies at it. One that kills every worker (for want of
#: memory, say) must come to an end.
N_TRIES = 4


class Executor(Protocol):
    """Runs a function on tasks."""

    @property
    def n_workers(self) -> int:
        """How many tasks are worked at at a time."""

    def run(
        self, work: Callable[[Shared, Task], Found], shared: Shared, tasks: Iterable[Task]
    ) -> Generator[tuple[Task, Found]]:
        """Each task with what ``work(shared, task)`` returns, as they finish.

        An error of ``work`` is raised here as it is. A task whose worker dies is given to another.
        When the generator is closed, what is still being worked at is dropped.
        """

    def ask(self, question: Callable[[], Found]) -> Found:
        """What a function returns where the work is done."""


class ThisProcess:
    """Does one task after the other, here."""

    n_workers = 1

    def run(
        self, work: Callable[[Shared, Task], Found], shared: Shared, tasks: Iterable[Task]
    ) -> Generator[tuple[Task, Found]]:
        """See :class:`Executor`."""
        for task in tasks:
            yield task, work(shared, task)

    def ask(self, question: Callable[[], Found]) -> Found:
        """See :class:`Executor`."""
        return question()


@dataclass
class Outcome(Generic[Found]):
    """What came of a task: a result or an error, and what was warned of on the way."""

    found: Found | None = None
    error: Exception | None = None
    warnings: list[str] = field(default_factory=list)

    def take(self) -> Found:
        """The result, or the error raised here; warnings are given here too."""
        for text in self.warnings:
            warnings.warn(text, AdaSentWarning, stacklevel=3)
        if self.error is not None:
            raise self.error
        return self.found  # type: ignore[return-value]


def attempt(work: Callable[[Shared, Task], Found], shared: Shared, task: Task) -> Outcome[Found]:
    """Do a task on a worker; nothing that goes wrong in it ends the worker."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaSentWarning)
        try:
            outcome = Outcome(work(shared, task))
        except Exception as error:
            outcome = Outcome(error=_portable(error))
    ours = [one.message for one in caught if issubclass(one.category, AdaSentWarning)]
    outcome.warnings = list(dict.fromkeys(map(str, ours)))
    return outcome


def _portable(error: Exception) -> Exception:
    """The error, or its words where it cannot travel: some are made of more than they keep."""
    try:
        copied = copy.copy(error)
        is_whole = type(copied) is type(error) and str(copied) == str(error)
    except Exception:
        is_whole = False
    return error if is_whole else AdaSentError(f"{type(error).__name__}: {error}")


class Again(Generic[Task]):
    """Tasks to do, those whose worker has died first; one that kills its workers is an error."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks: Iterator[Task] = iter(tasks)
        self._lost: list[tuple[Task, int]] = []

    def __iter__(self) -> Iterator[tuple[Task, int]]:
        return self

    def __next__(self) -> tuple[Task, int]:
        """A task, and how often it was begun before."""
        if self._lost:
            return self._lost.pop(0)
        return next(self._tasks), 0

    def lose(self, task: Task, n_before: int) -> None:
        """Note that the worker died at it."""
        if n_before + 1 >= N_TRIES:
            raise LostWorkerError(
                f"a worker died {N_TRIES} times at the same run, perhaps for want of memory; "
                "start fewer workers, or smaller models"
            )
        self._lost.append((task, n_before + 1))


class Processes:
    """Does tasks in processes of this machine, started anew.

    A process takes up to ``n_workers`` times the memory of one, and pays where there are cores.
    """

    def __init__(self, n_workers: int) -> None:
        check_integer("workers", n_workers, 1)
        self.n_workers = n_workers

    def run(
        self, work: Callable[[Shared, Task], Found], shared: Shared, tasks: Iterable[Task]
    ) -> Generator[tuple[Task, Found]]:
        """See :class:`Executor`."""
        todo = Again(tasks)
        idle: list[_Worker] = []
        busy: dict[Connection, tuple[_Worker, Task, int]] = {}
        try:
            while True:
                while len(busy) < self.n_workers and (following := next(todo, None)) is not None:
                    worker = idle.pop() if idle else _Worker(work, shared)
                    worker.give(following[0])
                    busy[worker.connection] = worker, *following
                if not busy:
                    return
                ready = wait(list(busy))[0]
                worker, task, n_before = busy.pop(ready)  # type: ignore[call-overload]
                outcome = worker.result()
                if outcome is None:
                    worker.end()
                    todo.lose(task, n_before)
                    continue
                idle.append(worker)
                yield task, outcome.take()
        finally:
            for worker in [*idle, *(one for one, _, _ in busy.values())]:
                worker.end()

    def ask(self, question: Callable[[], Found]) -> Found:
        """See :class:`Executor`."""
        return question()


class _Worker:
    """A process that does one task after the other."""

    def __init__(self, work: Callable[[Any, Any], Any], shared: Any) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work, shared), daemon=True)
        with _of_a_worker():
            self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def give(self, task: Any) -> None:
        """Begin a task; that a process has died meanwhile is noticed when it is asked."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(task)

    def result(self) -> Outcome[Any] | None:
        """What came of the task; None if the process has died."""
        try:
            outcome: Outcome[Any] = self.connection.recv()
            return outcome
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


@contextmanager
def _of_a_worker() -> Iterator[None]:
    """What is started within has a thread for its products, and does not hear Ctrl-C.

    That is for the process that drives, also while another is starting.
    """
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    can_mask = hasattr(signal, "pthread_sigmask")  # not on Windows
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_mask else set()
    try:
        yield
    finally:
        if can_mask:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if threads is None:
            os.environ.pop("OMP_NUM_THREADS", None)


def _serve(connection: Connection, work: Callable[[Any, Any], Any], shared: Any) -> None:
    """The life of a process: tasks in, outcomes out, until nobody is at the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task = connection.recv()
            connection.send(attempt(work, shared, task))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
