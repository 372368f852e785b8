"""What the service counts and times, for Prometheus, and the middleware that sees every request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Prometheus' text format; our names are plain, so this oldest version of it says everything.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Upper bounds of the buckets: a millisecond to 8 seconds, and 1 to 256 texts.
_SECONDS = [round(0.001 * 2**i, 3) for i in range(14)]
_TEXTS = [2**i for i in range(9)]

#: Nothing from elsewhere, nothing inline: what a text holds can never run.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_PATHS = frozenset(
    {"/", "/docs", "/openapi.json", "/metrics", "/healthz"}
    | {"/v1/predict", "/v1/explain", "/v1/model", "/v1/feedback"}
)
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"})


class Metrics:
    """All that one application counts; two of them in a process do not mix.

    ``pending`` looks up the number of unanswered requests.
    """

    def __init__(self, pending: Callable[[], float]) -> None:
        own = self._registry = _Registry()
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
        gauge = Gauge("adasent_pending_requests", "Unanswered requests.", registry=own)
        gauge.set_function(pending)

    def batch(self, n_texts: int, seconds: float) -> None:
        """Count a batch."""
        self.batch_texts.observe(n_texts)
        self.batch_seconds.observe(seconds)

    def render(self) -> bytes:
        """Everything, in the text format."""
        return generate_latest(self._registry)


class _Registry(CollectorRegistry):
    """Leaves out when each series began: a series of its own, of use to nobody here."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric


class Instrument:
    """ASGI middleware that counts and times requests, and adds the headers that all answers have.

    Connections are closed after the answer while ``stopping`` says so.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, stopping: Callable[[], bool]) -> None:
        self.app = app
        self.metrics = metrics
        self.stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if self.stopping():  # or the client would send its next request into the void
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            # Labels from a fixed set: a client must not be able to fill the memory with them.
            path = scope["path"] if scope["path"] in _PATHS else "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.requests.labels(path, method, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - start)
