"""Opens the folders of models, and goes over to what is in a folder once it was replaced.

On SIGHUP all folders are read again; where they are watched, those that have changed. Requests on
their way end on the old model. A folder that cannot be used is refused with a log line, and the old
model goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path

from adasent.estimators.predictor import Predictor, load
from adasent.saving.folder import FILES
from adasent.serve.models import ModelApi, Served
from adasent.serve.work import warm_up

logger = logging.getLogger(__name__)  # not among those that are written sparingly

#: Seconds between looks at the folders.
_SECONDS = 1.0

State = tuple[tuple[int, ...], ...]


@dataclass
class ModelFolder:
    """A folder, and its state when it was last read."""

    path: Path
    state: State = ()

    def open(self) -> Predictor:
        """The model in the folder, ready to answer."""
        self.state = self.now()  # before it is read: what changes meanwhile is read again
        predictor = load(self.path)
        warm_up(predictor)
        return predictor

    def now(self) -> State:
        """Numbers that change when a file of the folder does."""
        found = []
        for name in FILES:
            with contextlib.suppress(OSError):
                stat = (self.path / name).stat()
                found.append((stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size))
        return tuple(found)


class Reloader:
    """Replaces models by what is in their folders.

    Parameters
    ----------
    apis, folders
        By the names of the models.
    watch
        Whether to look at the folders again and again.
    """

    def __init__(
        self, apis: Mapping[str, ModelApi], folders: Mapping[str, ModelFolder], watch: bool
    ) -> None:
        self._apis = apis
        self._folders = folders
        self._watch = watch
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin, in the running event loop."""
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, lambda: self._begin(self.reload()))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})  # of before, in workers
        if self._watch:
            self._begin(self._look())

    def stop(self) -> None:
        """End; a model that is just read is not taken."""
        for task in self._tasks:
            task.cancel()

    async def reload(self, only_changed: bool = False) -> None:
        """Read the folders, or those that have changed since they were read."""
        async with self._one_at_a_time:
            for name, folder in self._folders.items():
                if only_changed and folder.now() == folder.state:
                    continue
                api = self._apis[name]
                try:
                    served = await asyncio.to_thread(_open_for, api.served, folder)
                except Exception as error:  # whatever it is, the service goes on
                    logger.error("%s: kept the old model: %s", name, error)
                    continue
                api.replace(served)
                logger.warning("%s: now served is what is in %s", name, folder.path)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            await self.reload(only_changed=True)


def _open_for(served: Served, folder: ModelFolder) -> Served:
    return served.with_predictor(folder.open())
