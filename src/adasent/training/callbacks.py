"""Observers of a training run. They see its progress and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Callback:
    """Base: every event does nothing. Events come in this order, batches within epochs."""

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
