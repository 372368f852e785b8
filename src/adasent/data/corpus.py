"""The labelled texts that every reader returns and every split and fit takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adasent.errors import DataError

Label: TypeAlias = str | int | bool | float
Labels: TypeAlias = tuple[Label, ...]
"""Those of a text that may have several, or none."""
Indices: TypeAlias = npt.NDArray[np.int64]


# Compared by identity: arrays have no single truth value for a generated __eq__.
@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with one label each, or with a tuple of labels each, and where they came from."""

    name: str  # of the registry, or of the file
    texts: list[str]  # decoded, otherwise as they stand in the source; may be empty strings
    labels: list[Any]  # as many as texts, in the type the format carries; or tuples of them
    sha256: str  # of the raw bytes read, source files in order
    notes: list[str] = field(default_factory=list)  # what was dropped or is odd, with counts
    test: Indices | None = None  # positions of the official test part, if there is one
    # Of a file:
    rows: list[int] | None = None  # the row of each text, as pandas counts them
    weights: list[float] | None = None  # if a column of weights was named
    ids: list[Any] | None = None  # if a column of names was named
    columns: dict[str, str] = field(default_factory=dict)  # role -> column that was read
    read_as: list[str] = field(default_factory=list)  # what was found out about the file

    def __post_init__(self) -> None:
        for one in (self.labels, self.rows, self.weights, self.ids):
            assert one is None or len(one) == len(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def multilabel(self) -> bool:
        """Whether a text may have several labels."""
        return any(isinstance(one, tuple) for one in self.labels)

    @property
    def classes(self) -> list[Label]:
        """The labels there are, in order of appearance."""
        if not self.multilabel:
            return list(dict.fromkeys(self.labels))
        return list(dict.fromkeys(label for labels in self.labels for label in labels))

    def need_one_label(self, what: str) -> None:
        """Raise ``DataError`` where a text may have several labels."""
        if self.multilabel:
            raise DataError(f"{what} takes one label a text; the texts of {self.name} have lists")


def take(values: Sequence[Any], indices: Indices) -> list[Any]:
    """The values at the given positions, as a list."""
    return [values[i] for i in indices.tolist()]


def counted(n: int, noun: str) -> str:
    """``"1 blank line"``, ``"4 blank lines"``, ``"10,605 rows"``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
