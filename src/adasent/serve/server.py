"""Runs the service until it is told to stop, and then answers what it has accepted."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from adasent.errors import ConfigError
from adasent.estimators.predictor import Predictor
from adasent.estimators.starter import find_model
from adasent.runtime.threads import blas_threads
from adasent.serve.app import Service, Stopping, app_of, create_app
from adasent.serve.connections import Config, Room
from adasent.serve.feedback import FeedbackFile
from adasent.serve.hosts import names_of
from adasent.serve.limits import Limits
from adasent.serve.logs import json_logs, sparing_logs
from adasent.serve.models import Served
from adasent.serve.reload import ModelFolder, Reloader
from adasent.serve.telemetry import check_telemetry, instrument
from adasent.serve.work import warm_up
from adasent.serve.workers import check_workers, run_workers

#: Seconds for computing what is accepted, once told to stop; the rest is refused. And seconds more
#: for clients to read their answers.
COMPUTING_SECONDS = 10
READING_SECONDS = 5
#: Seconds after which a thread that computes in Python lets another one go on. The event loop gives
#: way with each answer that it sends; at Python's 5 ms, an explanation would hold up every one.
TURN_SECONDS = 0.0005
#: Connections that the system keeps until they are taken over.
BACKLOG = 2048


@dataclass(frozen=True)
class Options:
    """How models are served.

    Parameters
    ----------
    allow_hosts
        Names to answer to beside those of loopback.
    token
        What requests must bring; None answers everybody.
    n_workers
        Processes at one port.
    watch
        Whether to go over to a new model as soon as its folder has changed; SIGHUP always does.
    json_lines
        Whether to log in JSON, and each request.
    telemetry
        Whether to trace requests with OpenTelemetry.
    """

    limits: Limits = field(default_factory=Limits)
    allow_hosts: Sequence[str] = ()
    token: str | None = field(default=None, repr=False)
    n_workers: int = 1
    watch: bool = False
    json_lines: bool = False
    telemetry: bool = False


class Server(uvicorn.Server):
    """uvicorn, but requests that would be cut off on stopping are told so.

    Parameters
    ----------
    folders
        Of the models, by name, where they may be replaced.
    watch, json_lines
        As of :class:`Options`.
    again
        Whether the folders may have changed since they were read.
    parent
        A file descriptor that ends when the server shall.
    at_the_end
        Called when all is answered. A signal ends the process before the caller could.
    """

    def __init__(
        self,
        app: FastAPI,
        folders: Mapping[str, ModelFolder] | None = None,
        *,
        watch: bool = False,
        again: bool = False,
        parent: int | None = None,
        json_lines: bool = False,
        at_the_end: Callable[[], None] | None = None,
    ) -> None:
        self._at_the_end = at_the_end
        self._service: Service = app.state.service
        self._reloader = Reloader(self._service.apis, folders or {}, watch)
        self._again = again
        self._parent = parent
        more = {"log_config": None} if json_lines else {}
        super().__init__(
            Config(
                app,
                Room(self._service.limits),
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=COMPUTING_SECONDS + READING_SECONDS,
                **more,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, with the queue of those who come at once as long as before."""
        if self._again:  # what the parent has read may not be what is served by now
            await self._reloader.reload(only_changed=True)
        await super().startup(sockets)
        for one in sockets or ():  # asyncio has made it as short as what it takes over in one go
            one.listen(BACKLOG)
        self._reloader.start()
        if self._parent is not None:
            asyncio.get_running_loop().add_reader(self._parent, self._orphaned)

    def _orphaned(self) -> None:
        assert self._parent is not None
        asyncio.get_running_loop().remove_reader(self._parent)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening; wait for answers on their way."""
        self._service.stopping = True
        self._reloader.stop()
        loop = asyncio.get_running_loop()
        patience = loop.call_later(COMPUTING_SECONDS, self._service.batcher.abandon, Stopping())
        await super().shutdown(sockets)
        patience.cancel()
        if self._at_the_end is not None:
            await asyncio.to_thread(self._at_the_end)


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
    with _listening(host, port) as (listening,), blas_threads(1), short_turns(), sparing_logs():
        # One thread a product: the lanes and the event loop share the cores.
        warm_up(predictor)
        if ready is not None:
            ready(address(listening))
        names = names_of(host, loopback=is_loopback(host), allowed=allow_hosts)
        Server(create_app(predictor, name, limits, kept, names)).run([listening])


def serve_folders(
    folders: Mapping[str, Path],
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    feedback: Mapping[str, Path] | None = None,
    options: Options | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the models of folders, by name, until interrupted; the first one is the page's.

    As :func:`serve`, and the folders may be replaced meanwhile. ``feedback`` has the files of some
    of the models.
    """
    options = options or Options()
    check_workers(options.n_workers)
    if options.telemetry:
        check_telemetry()
    kept = {name: FeedbackFile(path) for name, path in (feedback or {}).items()}
    if unknown := kept.keys() - folders.keys():
        raise ConfigError(f"feedback for {min(unknown)!r}, but served are {', '.join(folders)}")
    opened = {name: ModelFolder(find_model(path)) for name, path in folders.items()}
    names = names_of(host, loopback=is_loopback(host), allowed=options.allow_hosts)
    with ExitStack() as stack:
        sockets = stack.enter_context(_listening(host, port, options.n_workers))
        stack.enter_context(blas_threads(1))
        stack.enter_context(short_turns())
        stack.enter_context(sparing_logs())
        if options.json_lines:
            stack.enter_context(json_logs())
        models = [
            Served(folder.open(), name, options.limits, kept.get(name))
            for name, folder in opened.items()
        ]
        if options.n_workers > 1:
            for model in models:
                _check_forking(model)
        if ready is not None:
            ready(address(sockets[0]))

        def work(listening: socket.socket, parent: int | None = None, again: bool = False) -> None:
            app = app_of(models, names, options.token)
            Server(
                app,
                opened,
                watch=options.watch,
                again=again,
                parent=parent,
                json_lines=options.json_lines,
                at_the_end=instrument(app) if options.telemetry else None,
            ).run([listening])

        if options.n_workers == 1:
            work(sockets[0])
        else:
            run_workers(sockets, work)


def _check_forking(model: Served) -> None:
    if model.predictor.encoder.contextual:
        raise ConfigError(
            f"{model.name}: a model that stands on an encoder has threads of its own, and such a "
            "process cannot be doubled; leave --workers out"
        )


@contextmanager
def short_turns() -> Iterator[None]:
    """Within, threads take turns often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _listening(host: str, port: int, n_sockets: int = 1) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        # Alone first: several may share a port, but only those of one service shall.
        sockets = [stack.enter_context(listen(host, port))]
        if n_sockets > 1:
            port = sockets.pop().getsockname()[1]
            stack.close()
            for _ in range(n_sockets):
                sockets.append(stack.enter_context(listen(host, port, shared=True)))
        yield sockets


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens, with others at its port if shared; OSError says what is wrong."""
    family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(where[:2], family=family, backlog=BACKLOG, reuse_port=shared)


def address(listening: socket.socket) -> str:
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host; a name counts as what it resolves to."""
    found = {where[0] for *_, where in socket.getaddrinfo(host, None)}
    return all(ipaddress.ip_address(str(each)).is_loopback for each in found)
