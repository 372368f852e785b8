"""Teachers asked over a Ray cluster: shards of texts -> their probabilities, in order.

Teaching knows nothing of Ray: it hands over a teacher and shards. The teacher is sent once, its
arrays lie in memory that all workers of a machine share, and no more shards are under way than the
workers need to stay busy. A shard whose worker or node dies is asked for again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from adasent.errors import AdaSentError
from adasent.teaching.labels import Asking
from adasent.teaching.teacher import Teacher

#: Shards under way for each worker: one that is asked, one that waits.
_AHEAD = 2
#: How often a shard is asked for whose worker dies.
_TRIES = 10


def ask_over(ray: Any, workers: int | None = None) -> Asking:
    """What asks teachers on the cluster that this process is connected to.

    Parameters
    ----------
    ray
        The module, as :func:`~adasent.distributed.cluster.connected` gives it.
    workers
        Shards that are asked at once; None is one a core of the cluster.
    """
    at_once = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote = ray.remote(num_cpus=1, max_retries=_TRIES)(_ask)

    def ask(teacher: Teacher, shards: Iterable[Sequence[str]]) -> Iterator[np.ndarray]:
        sent = ray.put(teacher)
        under_way: deque[Any] = deque()
        for shard in shards:
            under_way.append(remote.remote(sent, list(shard)))
            if len(under_way) >= _AHEAD * at_once:
                yield _had(ray, under_way.popleft())
        while under_way:
            yield _had(ray, under_way.popleft())

    return ask


def _ask(teacher: Teacher, texts: list[str]) -> np.ndarray:
    return teacher.predict_proba(texts)


def _had(ray: Any, answer: Any) -> np.ndarray:
    try:
        found: np.ndarray = ray.get(answer)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, AdaSentError):
            raise error.cause from None
        raise
    return found
