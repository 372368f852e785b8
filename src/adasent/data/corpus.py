"""The labelled texts that every reader returns and every split and fit takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Label: TypeAlias = str | int | bool | float
Indices: TypeAlias = npt.NDArray[np.int64]


# Compared by identity: arrays have no single truth value for a generated __eq__.
@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with one label each, and where they came from."""

    name: str  # of the registry, or of the file
    texts: list[str]  # decoded, otherwise as they stand in the source; may be empty strings
    labels: list[Label]  # as many as texts, in the type the format carries
    sha256: str  # of the raw bytes read, source files in order
    notes: list[str] = field(default_factory=list)  # what was dropped or is odd, with counts
    test: Indices | None = None  # positions of the official test part, if there is one

    def __post_init__(self) -> None:
        assert len(self.texts) == len(self.labels)

    def __len__(self) -> int:
        return len(self.texts)


def take(values: Sequence[Any], indices: Indices) -> list[Any]:
    """The values at the given positions, as a list."""
    return [values[i] for i in indices.tolist()]


def counted(n: int, noun: str) -> str:
    """``"1 blank line"``, ``"4 blank lines"``, ``"10,605 rows"``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
