"""Connections with bounds: their number, and the size and time of what precedes a request's body.

uvicorn bounds none of these. A head (request line and header fields) must be complete in time and
below a size, a client must read what it is sent, and when there are too many connections the one
that has waited longest without a request makes room. So half requests cost little, and cannot keep
others out.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from adasent.serve.limits import PEER, Limits, Refused

logger = logging.getLogger("adasent.serve")

#: File descriptors that are kept for other things than connections, where there are enough.
_RESERVED = 96
#: Seconds for a client to read why it was refused.
_LINGER = 1.0


class Room:
    """The connections of a server, and which of them wait for a request, longest first."""

    def __init__(self, limits: Limits) -> None:
        free = _free_descriptors()
        reserved = min(_RESERVED, free // 2)
        self.limits = limits
        self.size = max(1, min(limits.max_connections, free - reserved))
        #: Connections taken over in a turn of the event loop; one is closed some four turns later.
        self.at_once = max(1, reserved // 6)
        self._all: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        self._n_refused = 0

    def enter(self, connection: Connection) -> bool:
        """Let a connection in, in place of a waiting one if need be; False if there is no room."""
        if len(self._all) >= self.size:
            if not self._waiting:
                logger.warning("%d connections are busy; a further one was refused", self.size)
                return False
            logger.warning(
                "%d connections: one that waited without a request was closed for a new one",
                self.size,
            )
            oldest = next(iter(self._waiting))
            self.leave(oldest)
            oldest.transport.close()
        self._all.add(connection)
        self._waiting[connection] = None
        return True

    def wait(self, connection: Connection) -> None:
        """It waits for the head of a request."""
        if connection in self._all:
            self._waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """It has a request that is not answered."""
        self._waiting.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """It is closed, or about to be."""
        self._all.discard(connection)
        self._waiting.pop(connection, None)

    def linger(self) -> bool:
        """Whether a refused connection may stay until its client has read why."""
        if self._n_refused >= self.at_once:
            return False
        self._n_refused += 1
        return True

    def lingered(self) -> None:
        """It is gone."""
        self._n_refused -= 1


class Config(uvicorn.Config):
    """uvicorn's settings, and what the connections of a server share."""

    def __init__(self, app: Any, room: Room, **settings: Any) -> None:
        self.room = room
        super().__init__(
            app, http=Connection, ws="none", proxy_headers=False, backlog=room.at_once, **settings
        )


class Together:
    """A transport that sends at once what is written in one turn of the event loop.

    uvicorn writes the head and the body of an answer by themselves, and a call of the system each
    costs as much as to make the answer.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """Whatever else a transport can."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send soon."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        """Send now."""
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(data)

    def write_eof(self) -> None:
        """Send, and nothing after it."""
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Send, and close."""
        self.flush()
        self._transport.close()


class Peer:
    """What a request cannot say of its client: whether all of it has come, and if it hung up."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        #: Called if the client hangs up before it has its answer.
        self.when_gone: Callable[[], None] | None = None

    @property
    def whole(self) -> bool:
        """Whether the body has arrived."""
        return not self._cycle.more_body


class Connection(HttpToolsProtocol):
    """A client's connection; the application finds a :class:`Peer` in the scope."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._room = config.room
        self._limits = config.room.limits
        self._deadline: asyncio.TimerHandle | None = None  # of the head that is awaited
        self._reading: asyncio.TimerHandle | None = None  # the next look whether the client reads
        self._unread = 0  # bytes that it had not taken at the last look
        self._silent = 0  # bytes since a head was complete or part of a body came
        self._refusal: Refused | None = None
        self._lingers = False
        self._peers: deque[Peer] = deque()  # of requests that are not answered

    # -- asyncio's side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the client in, or tell it that there is no room."""
        super().connection_made(transport)
        self.transport = cast(asyncio.Transport, Together(transport, self.loop))
        if self._room.enter(self):
            self._await_head()
        else:
            self._refuse(Refused(503, "too many connections; try again in a second", 1))

    def data_received(self, data: bytes) -> None:
        """Read on, unless the client was refused or sends a head without an end."""
        if self._refusal is not None:
            return
        self._silent += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self._refusal is not None:
            return
        if self._silent > self._limits.max_head_bytes:
            self._refuse(self._too_large())
        elif self._idle:
            self._await_head()

    def eof_received(self) -> None:
        """A refused client has sent all that it will."""
        if self._refusal is not None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        super().connection_lost(exc)
        for peer in self._peers:
            if peer.when_gone is not None:
                peer.when_gone()
        self._room.leave(self)
        if self._lingers:
            self._lingers = False
            self._room.lingered()
        self._no_deadline()
        if self._reading is not None:
            self._reading.cancel()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is written to."""
        super().pause_writing()
        self._watch_reading()

    # -- the parser's side

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._silent = 0
        if len(self.url) + sum(len(k) + len(v) for k, v in self.headers) > (
            self._limits.max_head_bytes
        ):
            raise self._too_large()  # the parser stops, and send_400_response follows
        self._no_deadline()
        self._room.work(self)
        super().on_headers_complete()
        peer = Peer(self.cycle)
        self._peers.append(peer)
        self.scope[PEER] = peer  # type: ignore[literal-required]

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._silent = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole; what follows is the next one."""
        self._silent = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser stopped at."""
        too_large = len(self.url) + sum(len(k) + len(v) for k, v in self.headers or ()) > (
            self._limits.max_head_bytes
        )
        self._refuse(self._too_large() if too_large else Refused(400, "this is not HTTP"))

    # -- uvicorn's side

    def on_response_complete(self) -> None:
        """Wait for the next request, if none has come yet."""
        self._peers.popleft()
        super().on_response_complete()
        if self._idle:
            self._room.wait(self)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that nobody uses, once its client has read the last answer."""
        super().timeout_keep_alive_handler()
        self._watch_reading()

    # -- ours

    @property
    def _idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._limits.head_seconds, self._too_late)

    def _no_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        if self._idle and self._refusal is None:
            seconds = self._limits.head_seconds
            self._refuse(Refused(408, f"the head did not arrive in {seconds} seconds"))

    def _too_large(self) -> Refused:
        return Refused(431, f"expected a head of at most {self._limits.max_head_bytes:,} bytes")

    def _refuse(self, refusal: Refused) -> None:
        """Say why, and close; what the client still sends is not looked at."""
        self._refusal = refusal
        self._room.leave(self)
        self._no_deadline()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        if not self._idle:  # an answer is on its way, and ours would come before it
            self.transport.abort()
            return
        self.transport.write(_answer(refusal))
        # Closed at once, the client would be cut off while it sends, and not see the reason.
        self._lingers = self.transport.can_write_eof() and self._room.linger()
        if self._lingers:
            self.transport.write_eof()
            self.loop.call_later(_LINGER, self.transport.abort)
        else:
            self.transport.abort()

    def _watch_reading(self) -> None:
        if self._reading is None:
            self._unread = self.transport.get_write_buffer_size()
            self._reading = self.loop.call_later(self._limits.body_seconds, self._look)

    def _look(self) -> None:
        self._reading = None
        unread = self.transport.get_write_buffer_size()
        if unread and unread >= self._unread:
            logger.warning("a client that did not read its answer was cut off")
            self.transport.abort()
        elif unread:
            self._watch_reading()


def _answer(refusal: Refused) -> bytes:
    body = json.dumps({"error": refusal.reason}).encode()
    after = f"retry-after: {refusal.retry_after}\r\n" if refusal.retry_after else ""
    head = (
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"{after}connection: close\r\n\r\n"
    )
    return head.encode() + body


def _free_descriptors() -> int:
    """How many files and connections this process may still open."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        n_open = sum(1 for _ in Path("/dev/fd").iterdir())
    except (ImportError, OSError):  # where there is no such limit
        return 2**31
    return 2**31 if limit == resource.RLIM_INFINITY else max(2, limit - n_open)
