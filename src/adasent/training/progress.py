"""The progress bar of a training run: rate, estimate, and a line an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from adasent.training.callbacks import Callback


class ProgressBar(Callback):
    """A bar over all examples of all epochs with rate and estimate, and a line an epoch.

    Parameters
    ----------
    console
        Where to draw; standard error by default. Without a terminal only the lines are written.
    """

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
            line += f"  valid loss {row['valid_loss']:.4f} accuracy {row['valid_accuracy']:.4f}"
        line += f"  {row['examples_per_second']:,.0f} texts/s{'  best' if is_best else ''}"
        self.console.print(line, highlight=False, soft_wrap=True)

    def on_train_end(self) -> None:
        self.progress.stop()
