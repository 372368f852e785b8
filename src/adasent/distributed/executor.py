"""The runner's executor on a Ray cluster: runs in, finished records out, whichever worker dies.

What the runs share goes into Ray's object store once; a worker reads it once, for all runs that it
makes. The process that drives keeps everything that must not be lost, so a worker or a machine that
goes away costs what it was at, which another worker does again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from adasent.checks import check_integer
from adasent.distributed.cluster import connected
from adasent.errors import AdaSentError
from adasent.evaluation.executors import Again, Found, Outcome, Shared, Task, attempt


@contextmanager
def ray_executor(address: str | None = None, n_workers: int | None = None) -> Iterator[RayExecutor]:
    """An executor on a cluster, for the block; see :func:`adasent.distributed.cluster.connected`.

    Parameters
    ----------
    n_workers
        How many runs at a time; None is as many as the cluster has GPUs or, without any, cores.
        A cluster that is started here has as many cores.
    """
    if n_workers is not None:
        check_integer("workers", n_workers, 1)
    with connected(address, n_cpus=n_workers) as ray:
        yield RayExecutor(ray, n_workers)


class RayExecutor:
    """Does each task on a core or a GPU of a cluster that this process is connected to."""

    def __init__(self, ray: Any, n_workers: int | None = None) -> None:
        there = ray.cluster_resources()
        # A device a worker: what has none trains on the CPU, one thread unless n_jobs says more.
        self._needs = {"num_cpus": 1, "num_gpus": 1 if there.get("GPU", 0) >= 1 else 0}
        self._ray = ray
        found = there.get("GPU", 0) or there.get("CPU", 0)
        self.n_workers = n_workers or max(1, int(found))

    def run(
        self, work: Callable[[Shared, Task], Found], shared: Shared, tasks: Iterable[Task]
    ) -> Generator[tuple[Task, Found]]:
        """See :class:`~adasent.evaluation.executors.Executor`."""
        ray, todo = self._ray, Again(tasks)
        # Lost workers are counted here: Ray would begin a run anew without end.
        do = ray.remote(**self._needs, max_retries=0)(_attempt)
        busy: dict[Any, tuple[Task, int]] = {}
        kept: list[Any] = []  # in a list, so that a worker gets the reference and not a copy a run
        try:
            while True:
                while len(busy) < self.n_workers and (following := next(todo, None)) is not None:
                    if not kept:
                        kept = [ray.put(shared)]
                    busy[do.remote(work, kept, following[0])] = following
                if not busy:
                    return
                (ready,), _ = ray.wait(list(busy), num_returns=1)
                task, n_before = busy.pop(ready)
                try:
                    outcome = ray.get(ready)
                except ray.exceptions.RayTaskError as error:
                    raise AdaSentError(
                        f"a worker of the cluster could not begin: {_last_line(error)}; every node "
                        "needs the same adasent, and the same modules of yours"
                    ) from error
                except ray.exceptions.RayError:  # its process or its machine is gone
                    todo.lose(task, n_before)
                    continue
                yield task, outcome.take()
        finally:
            for one in busy:
                ray.cancel(one, force=True)

    def ask(self, question: Callable[[], Found]) -> Found:
        """See :class:`~adasent.evaluation.executors.Executor`."""
        found: Found = self._ray.get(self._ray.remote(**self._needs)(_answer).remote(question))
        return found


def _last_line(error: Exception) -> str:
    """What Ray's report of an error ends with: the error itself."""
    return str(error).strip().splitlines()[-1].strip()


#: What this worker has been given last, by its reference: it serves all runs of one search.
_KEPT: dict[Any, Any] = {}


def _attempt(work: Callable[[Any, Any], Any], kept: list[Any], task: Any) -> Outcome[Any]:
    """On a worker."""
    import ray

    (reference,) = kept
    if reference not in _KEPT:
        _KEPT.clear()
        _KEPT[reference] = ray.get(reference)
    return attempt(work, _KEPT[reference], task)


def _answer(question: Callable[[], Found]) -> Found:
    return question()
