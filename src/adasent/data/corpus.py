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
    """Texts with one label each, and where they came from.

    Parameters
    ----------
    name
        Registry name or file name.
    texts
        Decoded, otherwise as they stand in the source; may be empty strings.
    labels
        As many as texts, in the type the format carries.
    sha256
        Hexadecimal digest of the raw bytes read, source files in order.
    notes
        What was dropped or is odd, with counts; for the user to read.
    test
        Positions of the official test part; None where there is no official split.
    """

    name: str
    texts: list[str]
    labels: list[Label]
    sha256: str
    notes: list[str] = field(default_factory=list)
    test: Indices | None = None

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
