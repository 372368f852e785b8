"""Observers of a training run: they see its progress and change nothing but when it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from adasent.training.metric import EXTRA_COLUMNS


class Callback:
    """An observer for whom every event does nothing; events come in this order."""

    def on_train_begin(self, n_epochs: int, n_examples: int, first_epoch: int) -> None:
        """Before the first epoch; ``first_epoch`` is above 0 when a run resumes."""

    def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
        """After each update; ``n_done`` counts the examples of this epoch so far.

        ``loss`` is None where asking for it would make the device wait.
        """

    def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
        """After each epoch, with its row of the history; of many runs, after each in turn."""

    def on_train_end(self) -> None:
        """Always, also after an error or Ctrl-C."""


class ProgressBar(Callback):
    """A bar over all examples of all epochs with rate and estimate, and a line an epoch.

    It is drawn on standard error by default. Without a terminal only the lines are written.
    ``measure`` is the name of what the validation part is measured by, beside the loss.
    """

    measure = "accuracy"

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = TaskID(0)
        self.n_examples = 0
        self.n_epochs = 0

    def on_train_begin(self, n_epochs: int, n_examples: int, first_epoch: int) -> None:
        self.n_examples, self.n_epochs = n_examples, n_epochs
        self.task = self.progress.add_task(
            "training",
            total=n_epochs * n_examples,
            completed=first_epoch * n_examples,
            rate="",
        )
        self.progress.start()

    def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
        speed = self.progress.tasks[self.task].speed if self.progress.tasks else None
        self.progress.update(
            self.task,
            completed=epoch * self.n_examples + n_done,
            description=f"epoch {epoch + 1}/{self.n_epochs}"
            + (f" loss {loss:.3f}" if loss is not None else ""),
            rate=f"{speed:,.0f} texts/s" if speed else "",
        )

    def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
        line = f"epoch {epoch + 1:3d}  loss {row['train_loss']:.4f}"
        if row["valid_accuracy"] is not None:
            line += f"  valid loss {row['valid_loss']:.4f}"
            line += f" {self.measure} {row['valid_accuracy']:.4f}"
            line += "".join(f" {EXTRA_COLUMNS[k]} {row[k]:.4f}" for k in EXTRA_COLUMNS if k in row)
        line += f"  {row['examples_per_second']:,.0f} texts/s{'  best' if is_best else ''}"
        self.console.print(line, highlight=False, soft_wrap=True)

    def on_train_end(self) -> None:
        self.progress.stop()


class Interrupt(Callback):
    """Lets Ctrl-C through between two steps, never inside one.

    An exception that may come at any instruction can be lost where the interpreter cannot pass it
    on (a finaliser, a callback from C), and can leave a step half done. Inside the ``with`` block
    Ctrl-C is noted and raised after the step; a second one is raised at once. Outside of the main
    thread nothing changes.
    """

    def __init__(self) -> None:
        self._pressed = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler:  # another one is somebody's wish
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            signal.default_int_handler(number, frame)
        self._pressed = True

    def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
        self.check()

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if Ctrl-C has come."""
        if self._pressed:
            self._pressed = False
            raise KeyboardInterrupt
