"""The record of a training run: one row an epoch, readable back from JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adasent.checks import check_flag, check_integer
from adasent.errors import ConfigError, nearest


class History(Sequence[Mapping[str, Any]]):
    """Rows of an epoch each: epoch, losses, accuracies, gradient norm, gradient flow, seconds."""

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
