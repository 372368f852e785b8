"""Work for executors, in a module that their processes can import."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

from adasent.errors import AdaSentWarning, ConfigError
from experiment_cases import EarlyRule


def add(shared: int, task: int) -> tuple[int, int]:
    """The sum, and who has made it."""
    return shared + task, os.getpid()


def threads(shared: Any, task: Any) -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


def refuse(shared: Any, task: Any) -> None:
    raise ConfigError(f"dropout must be a number from 0 to 0.95; got {task}")


class Strange(Exception):
    """Made of two things, of which it keeps one: it cannot be copied."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one)


def be_strange(shared: Any, task: Any) -> None:
    raise Strange("odd", "end")


def warn(shared: Any, task: Any) -> Any:
    warnings.warn("2 texts were cut", AdaSentWarning, stacklevel=1)
    return task


def die_once(folder: str, task: int) -> int:
    """Task 1 kills its process when it is first begun."""
    mark = Path(folder) / str(task)
    begun_before = mark.exists()
    mark.touch()
    if task == 1 and not begun_before:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def die(shared: Any, task: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_it(folder: str, task: int) -> int:
    """Says that it has begun, and waits until it is told to end."""
    (Path(folder) / f"begun-{task}").touch()
    until = time.monotonic() + 30
    while not (Path(folder) / "end").exists() and time.monotonic() < until:
        time.sleep(0.02)
    return task


class Waiting(EarlyRule):
    """Trains until it is told to end, and says that it has begun."""

    def __init__(self, folder: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.folder = folder

    def fit(self, X: list[str], y: list[Any], validation: Any = None) -> Any:
        wait_for_it(self.folder, os.getpid())
        return super().fit(X, y, validation)


def trial_that_dies_once(folder: str, searches: Any, task: Any) -> Any:
    from adasent.evaluation.trials import run_trial

    die_once(folder, task.number)
    return run_trial(searches, task)
