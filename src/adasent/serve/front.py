"""What every request passes first: it gets an id, is counted, timed and logged.

And a short way for what is asked often: FastAPI's takes about as long as to label a text.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adasent.errors import AdaSentError
from adasent.serve.limits import Refused
from adasent.serve.metrics import Metrics

#: A line a request, where the service was asked for that.
requests_log = logging.getLogger("adasent.serve.requests")

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
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass
class Seen:
    """What is known of a request beside what it says itself."""

    id: str
    n_texts: int = 0  # that were computed for it


def seen(scope: Scope) -> Seen:
    """Of a request; an application without :class:`Instrument` has nobody to tell."""
    found = scope.get("adasent.seen")
    return found if isinstance(found, Seen) else Seen("")


def header(scope: Scope, name: bytes) -> bytes:
    """A header field of a request, empty where there is none."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


class Instrument:
    """ASGI middleware that counts, times and logs requests, and adds what all answers have.

    Connections are closed after the answer while ``stopping`` says so.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, stopping: Callable[[], bool]) -> None:
        self.app = app
        self.metrics = metrics
        self.stopping = stopping
        self._ids = map(f"{secrets.token_hex(6)}-{{:x}}".format, itertools.count())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500
        given = header(scope, b"x-request-id")
        name = given if _SANE_ID.fullmatch(given) else next(self._ids).encode()
        scope["adasent.seen"] = one = Seen(name.decode())

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], *_HEADERS, (b"x-request-id", name)]
                if self.stopping():  # or the client would send its next request into the void
                    headers.append((b"connection", b"close"))
                message["headers"] = headers
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - start
            route, method = self.metrics.request(scope["path"], scope["method"], status, seconds)
            if requests_log.isEnabledFor(logging.INFO):
                line = {
                    "id": one.id,
                    "method": method,
                    "route": route,
                    "status": status,
                    "seconds": round(seconds, 6),
                    "n_texts": one.n_texts,
                }
                requests_log.info("request", extra={"fields": line})


class Shortcuts:
    """ASGI middleware that answers some paths by itself, as the application behind it would."""

    def __init__(
        self, app: ASGIApp, endpoints: Mapping[str, Callable[[Request], Awaitable[Response]]]
    ) -> None:
        self.app = app
        self.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass a request on."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        endpoint = self.endpoints.get(scope["path"])
        if endpoint is None:
            await self.app(scope, receive, send)
            return
        try:
            answer = await endpoint(Request(scope, receive))
        except Refused as refusal:
            answer = refused(refusal)
        except AdaSentError as error:
            answer = refused(Refused(500, str(error)))
        await answer(scope, receive, send)


def refused(refusal: Refused) -> Response:
    """One line on why a request is not answered."""
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else None
    return JSONResponse({"error": refusal.reason}, refusal.status, headers)
