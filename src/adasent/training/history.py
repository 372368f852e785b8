"""The record of a training run: one row an epoch, readable back from JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adasent.checks import check_flag, check_integer
from adasent.errors import ConfigError, nearest
from adasent.notebook import html_columns
from adasent.training.metric import rank

#: Columns that a notebook shows, and what it calls them.
_SHOWN = {
    "train_loss": "loss",
    "train_accuracy": "accuracy",
    "valid_loss": "validation loss",
    "valid_accuracy": "validation accuracy",
    "seconds": "seconds",
}


class History(Sequence[Mapping[str, Any]]):
    """Rows of an epoch each: epoch, losses, accuracies, gradient norm, gradient flow, seconds.

    Where a text may have several labels, ``valid_accuracy`` is the micro F1 at a threshold of a
    half.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        self.rows: list[dict[str, Any]] = [dict(row) for row in rows]
        self.best_epoch: int | None = None  # whose weights the model has, if any
        self.interrupted = False  # True when Ctrl-C ended the run

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def column(self, name: str) -> list[Any]:
        """One value an epoch, for example ``history.column("valid_accuracy")``."""
        if self.rows and name not in self.rows[0]:
            raise KeyError(f"no column {name!r} in the history{nearest(name, self.rows[0])}")
        return [row[name] for row in self.rows]

    def add(self, row: dict[str, Any], metric: str = "accuracy") -> bool:
        """Add an epoch; is it the best?

        By the metric, then by lower loss (:func:`adasent.training.metric.rank`); the last without
        a validation part.
        """
        self.rows.append(row)
        if (
            self.best_epoch is not None
            and row["valid_accuracy"] is not None
            and rank(row, metric) <= rank(self.rows[self.best_epoch], metric)
        ):
            return False
        self.best_epoch = len(self) - 1
        return True

    def is_over(self, n_epochs: int, patience: int | None) -> bool:
        """Whether all epochs are done, or the best is ``patience`` epochs ago; None never ends."""
        if len(self) >= n_epochs:
            return True
        if patience is None or self.best_epoch is None:
            return False
        return len(self) - 1 - self.best_epoch >= patience

    def __repr__(self) -> str:
        if not self.rows:
            return "History(no epochs)"
        n = "1 epoch" if len(self) == 1 else f"{len(self)} epochs"
        best = "" if self.best_epoch is None else f", best {self.best_epoch + 1}"
        row = self.rows[-1 if self.best_epoch is None else self.best_epoch]
        accuracy = row.get("valid_accuracy")
        valid = "" if accuracy is None else f": validation accuracy {accuracy:.4f}"
        return f"History({n}{best}{valid}{', interrupted' if self.interrupted else ''})"

    def _repr_html_(self) -> str:
        """A table of the epochs, the best one bold, for notebooks."""
        names = [name for name in _SHOWN if any(row.get(name) is not None for row in self.rows)]
        rows = [
            [i + 1, *(_short(row.get(name)) for name in names)] for i, row in enumerate(self.rows)
        ]
        return html_columns(["epoch", *(_SHOWN[name] for name in names)], rows, self.best_epoch)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "best_epoch": self.best_epoch,
            "interrupted": self.interrupted,
            "epochs": self.rows,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> History:
        """Inverse of :meth:`to_dict`; raises ``ConfigError`` for what is no history."""
        rows, best = values["epochs"], values["best_epoch"]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ConfigError("expected history.epochs to be a list of objects")
        if best is not None:
            check_integer("history.best_epoch", best, 0, len(rows) - 1)
        check_flag("history.interrupted", values["interrupted"])
        history = cls(rows)
        history.best_epoch, history.interrupted = best, values["interrupted"]
        return history


def _short(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
