"""Around every request: it is counted and timed, and its answer gets the headers of all answers."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adasent.serve.metrics import Metrics

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
    | {"/v1/predict", "/v1/explain", "/v1/model"}
)
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"})


class Instrument:
    """ASGI middleware.

    Parameters
    ----------
    stopping
        Whether connections are to be closed after the answer.
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
            self.metrics.requests.add(1, path, method, str(status))
            self.metrics.seconds.observe(time.perf_counter() - start, path)
