"""What the service counts and times, for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

#: Prometheus' text format; our names are plain, so this oldest version of it says everything.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: The environment variable that names the folder where processes put their counts together.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
#: Upper bounds of the buckets: a millisecond to 8 seconds, and 1 to 256 texts.
_SECONDS = [round(0.001 * 2**i, 3) for i in range(14)]
_TEXTS = [2**i for i in range(9)]

_PATHS = frozenset(
    {"/", "/docs", "/openapi.json", "/metrics", "/healthz"}
    | {"/v1/predict", "/v1/explain", "/v1/model", "/v1/models", "/v1/feedback"}
)
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"})


class Metrics:
    """All that one application counts; two of them in a process do not mix.

    Where the environment names a folder for the counts of several processes, as
    :mod:`adasent.serve.workers` makes it do, they are those of all processes together.

    Parameters
    ----------
    paths
        Of requests, beside those that every service answers.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        own = self._registry = _Registry()
        self._paths = _PATHS.union(paths)
        labels = ("path", "method", "status")
        self.requests = Counter(
            "adasent_requests_total", "Answered requests.", labels, registry=own
        )
        self.seconds = Histogram(
            "adasent_request_seconds",
            "Time to the answer.",
            ("path",),
            registry=own,
            buckets=_SECONDS,
        )
        self.texts = Counter("adasent_texts_total", "Texts computed.", ("path",), registry=own)
        self.batch_texts = Histogram(
            "adasent_batch_texts", "Texts of a batch.", buckets=_TEXTS, registry=own
        )
        self.batch_seconds = Histogram(
            "adasent_batch_seconds", "Time of a batch.", buckets=_SECONDS, registry=own
        )
        self._pending = Gauge(
            "adasent_pending_requests",
            "Unanswered requests.",
            registry=own,
            multiprocess_mode="livesum",
        )
        # To look up a series takes longer than to count.
        self.texts_of = cache(self.texts.labels)
        self._request_of = cache(self.requests.labels)
        self._seconds_of = cache(self.seconds.labels)

    def request(self, path: str, method: str, status: int, seconds: float) -> tuple[str, str]:
        """Count a request; its path and method, as they are counted."""
        # Labels from a fixed set: a client must not be able to fill the memory with them.
        path = path if path in self._paths else "other"
        method = method if method in _METHODS else "other"
        self._request_of(path, method, str(status)).inc()
        self._seconds_of(path).observe(seconds)
        return path, method

    def batch(self, n_texts: int, seconds: float) -> None:
        """Count a batch."""
        self.batch_texts.observe(n_texts)
        self.batch_seconds.observe(seconds)

    def pending(self, n_requests: int) -> None:
        """So many requests are not answered now."""
        self._pending.set(n_requests)

    def render(self) -> bytes:
        """Everything, in the text format."""
        folder = os.environ.get(FOLDER)
        registry: CollectorRegistry = self._registry
        if folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class _Registry(CollectorRegistry):
    """Leaves out when each series began: a series of its own, of use to nobody here."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
