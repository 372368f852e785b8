"""Runs the service until it is told to stop, and then answers what it has accepted."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from adasent.estimators.predictor import Predictor
from adasent.runtime.threads import blas_threads
from adasent.serve.app import Service, Stopping, create_app
from adasent.serve.connections import Config, Room
from adasent.serve.feedback import FeedbackFile
from adasent.serve.hosts import names_of
from adasent.serve.limits import Limits
from adasent.serve.logs import sparing_logs
from adasent.serve.work import warm_up

#: Seconds for computing what is accepted, once told to stop; the rest is refused. And seconds more
#: for clients to read their answers.
COMPUTING_SECONDS = 10
READING_SECONDS = 5
#: Connections that the system keeps until they are taken over.
BACKLOG = 2048


class Server(uvicorn.Server):
    """uvicorn, but requests that would be cut off on stopping are told so."""

    def __init__(self, app: FastAPI) -> None:
        self._service: Service = app.state.service
        super().__init__(
            Config(
                app,
                Room(self._service.limits),
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=COMPUTING_SECONDS + READING_SECONDS,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, with the queue of those who come at once as long as before."""
        await super().startup(sockets)
        for one in sockets or ():  # asyncio has made it as short as what it takes over in one go
            one.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening; wait for answers on their way."""
        self._service.stopping = True
        loop = asyncio.get_running_loop()
        patience = loop.call_later(COMPUTING_SECONDS, self._service.batcher.abandon, Stopping())
        await super().shutdown(sockets)
        patience.cancel()


def serve(
    predictor: Predictor,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    name: str = "model",
    limits: Limits | None = None,
    feedback: Path | None = None,
    allow_hosts: Sequence[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve a model until interrupted; port 0 takes one that is free.

    ``ready`` is called with the address once connections are accepted. Labels that users put right
    are added to the CSV file ``feedback``; without one, the page does not ask for them. On loopback
    the service answers to names of loopback alone, and to those of ``allow_hosts``.
    """
    kept = None if feedback is None else FeedbackFile(feedback)
    with listen(host, port) as listening, blas_threads(1), sparing_logs():
        # One thread a product: the lanes and the event loop share the cores.
        warm_up(predictor)
        if ready is not None:
            ready(address(listening))
        names = names_of(host, loopback=is_loopback(host), allowed=allow_hosts)
        Server(create_app(predictor, name, limits, kept, names)).run([listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; OSError says what is in the way."""
    family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(where[:2], family=family, backlog=BACKLOG)


def address(listening: socket.socket) -> str:
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host; a name counts as what it resolves to."""
    found = {where[0] for *_, where in socket.getaddrinfo(host, None)}
    return all(ipaddress.ip_address(str(each)).is_loopback for each in found)
