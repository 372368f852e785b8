"""Several processes that answer at one port, and one above them that keeps their number.

They are forked once the models are read, so all use the same memory for them. Each has a socket of
its own; the system deals out new connections. A process that dies is replaced, and takes over the
connections that waited at its socket.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from socket import socket
from types import FrameType

from prometheus_client import values
from prometheus_client.multiprocess import mark_process_dead

from adasent.errors import AdaSentError, ConfigError
from adasent.serve.metrics import FOLDER

logger = logging.getLogger(__name__)  # not among those that are written sparingly

#: A process that ends before so many seconds has not served; so often in a row, and all end.
_SECONDS = 2.0
_ATTEMPTS = 5


def check_workers(n_workers: int) -> None:
    """Refuse what this system cannot do."""
    if n_workers > 1 and not sys.platform.startswith("linux"):
        raise ConfigError(
            f"--workers {n_workers}: only Linux deals out connections to processes; leave it out"
        )


def run_workers(sockets: Sequence[socket], work: Callable[[socket, int, bool], None]) -> None:
    """Run ``work`` in a process a socket until told to stop (SIGTERM, SIGINT); SIGHUP is passed on.

    ``work`` is called with its socket, a file descriptor that ends when this process does, and
    whether it replaces a process that died.
    """
    with tempfile.TemporaryDirectory(prefix="adasent-") as folder:
        os.environ[FOLDER] = folder
        try:
            _Workers(sockets, work).run()
        finally:
            del os.environ[FOLDER]


class _Workers:
    def __init__(
        self, sockets: Sequence[socket], work: Callable[[socket, int, bool], None]
    ) -> None:
        self._sockets = sockets
        self._work = work
        self._running: dict[int, tuple[int, float]] = {}  # by process: which socket, since when
        self._stopping: int | None = None
        self._n_failed = 0
        self._ours, self._theirs = os.pipe()

    def run(self) -> None:
        signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, self._pass_on) for number in signals}
        gc.collect()
        gc.freeze()  # collecting would write to memory that is shared, and so copy it
        try:
            for i in range(len(self._sockets)):
                self._start(i, again=False)
            while self._running:
                self._ended(*os.wait())
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            gc.unfreeze()
            os.close(self._ours)
            os.close(self._theirs)
        if self._stopping == signal.SIGINT:
            raise KeyboardInterrupt
        if self._n_failed >= _ATTEMPTS:
            raise AdaSentError("the processes of the service ended as soon as they began")

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGHUP:
            self._stopping = number
        for pid in self._running:
            # Ctrl-C may have reached them by itself; a second one would make them give up requests.
            os.kill(pid, signal.SIGTERM if number == signal.SIGINT else number)

    def _ended(self, pid: int, status: int) -> None:
        i, began = self._running.pop(pid, (None, 0.0))
        if i is None:
            return
        mark_process_dead(pid)  # type: ignore[no-untyped-call]
        if self._stopping is not None:
            return
        lived = time.monotonic() - began
        self._n_failed = self._n_failed + 1 if lived < _SECONDS else 0
        if self._n_failed >= _ATTEMPTS:
            self._pass_on(signal.SIGTERM, None)
            return
        logger.error(
            "process %d ended (%d) after %.0f s; another takes its place",
            pid,
            os.waitstatus_to_exitcode(status),
            lived,
        )
        time.sleep(0.1 * self._n_failed)
        self._start(i, again=True)

    def _start(self, i: int, again: bool) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal between the fork and the handlers of the child would be handled as the parent's.
        signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        pid = os.fork()
        if pid == 0:
            self._child(i, again, masked)
        self._running[pid] = (i, time.monotonic())
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)

    def _child(self, i: int, again: bool, masked: set[int]) -> None:
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            # It waits until the child can reload: whoever does unblocks it.
            signal.pthread_sigmask(signal.SIG_SETMASK, masked | {signal.SIGHUP})
            os.close(self._theirs)
            for j, other in enumerate(self._sockets):
                if j != i:
                    other.close()
            values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
            self._work(self._sockets[i], self._ours, again)
            code = 0
        except KeyboardInterrupt:
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)  # what the parent would do at its end is not ours to do
