"""The word table in fewer bytes: half precision for trained rows, eight bits for fixed ones.

Tables are rounded once, at the end of training. From then on packing and unpacking them loses
nothing, so a saved model predicts exactly as the one in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adasent.errors import ModelFormatError
from adasent.saving.model import Stored

Floats = NDArray[np.float32]

_TRAINED, _FIXED, _SCALE = "embedding.trained", "embedding.fixed", "embedding.fixed_scale"


def stored_table(trained: tuple[int, ...], fixed: tuple[int, ...]) -> dict[str, Stored]:
    """The tensors of a folder that a word table of these shapes is stored in."""
    return {
        _TRAINED: Stored(trained, ("F16", "F32")),
        _FIXED: Stored(fixed, ("I8",)),
        _SCALE: Stored(fixed[:1]),
    }


def round_to_half(table: Floats) -> Floats:
    """The nearest values that half precision holds; a table out of its range stays as it is."""
    if table.size and float(np.abs(table).max()) > float(np.finfo(np.float16).max):
        return table
    return table.astype(np.float16).astype(np.float32)


def to_int8(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows (n, d) as whole numbers from -127 to 127, and a power of two (n,) to multiply each by.

    Powers of two make the product exact: packing an unpacked table gives the same bytes.
    """
    largest = np.abs(table).max(axis=1, initial=0.0)
    _, exponent = np.frexp(largest / np.float32(127))
    scale = np.ldexp(np.float32(1), np.maximum(exponent, -100)).astype(np.float32)
    # frexp gives 0.5 <= m < 1, so an exact power of two would be doubled; halve it again.
    scale = np.where(largest <= 127 * (scale / 2), scale / 2, scale).astype(np.float32)
    numbers = np.rint(table / scale[:, None]).astype(np.int8)
    return numbers, scale


def from_int8(numbers: NDArray[np.int8] | Floats, scale: Floats) -> Floats:
    """Inverse of :func:`to_int8`, exact."""
    table: Floats = numbers.astype(np.float32) * scale[:, None]
    return table


@dataclass(frozen=True)
class WordTable:
    """The table U as it is stored; rows are widened only when they are looked up."""

    trained: NDArray[np.float16] | Floats  # (n_trained, d)
    fixed: NDArray[np.int8] | Floats  # (n_fixed, d), as float32 with a scale of 1
    scale: Floats  # (n_fixed,) factor of each fixed row

    @classmethod
    def wide(cls, trained: Floats, fixed: Floats) -> WordTable:
        """A table around arrays in full precision; nothing is copied."""
        return cls(trained, fixed, np.ones(len(fixed), dtype=np.float32))

    @classmethod
    def take_from(cls, tensors: dict[str, np.ndarray]) -> WordTable:
        """Inverse of :meth:`to_tensors`; takes the table's own out of all that a folder holds."""
        table = cls(tensors.pop(_TRAINED), tensors.pop(_FIXED), tensors.pop(_SCALE))
        with np.errstate(over="ignore"):
            # The rows are eight bits times their scale; they are not multiplied out at loading.
            largest = table.scale * np.float32(128)
        if not np.isfinite(largest).all():
            raise ModelFormatError(f"{_SCALE} holds values that are not finite")
        return table

    def to_tensors(self) -> dict[str, np.ndarray]:
        """The packed table as the tensors of a folder."""
        table = self.pack()
        return {_TRAINED: table.trained, _FIXED: table.fixed, _SCALE: table.scale}

    def pack(self) -> WordTable:
        """The same table in as few bytes as lose nothing of a rounded one."""
        with np.errstate(over="ignore"):  # what half precision cannot hold is stored whole
            half = self.trained.astype(np.float16)
        whole = not np.array_equal(half.astype(np.float32), self.trained)
        fixed, scale = to_int8(from_int8(self.fixed, self.scale))
        return WordTable(self.trained if whole else half, fixed, scale)

    def unpack(self) -> tuple[Floats, Floats]:
        """Trained and fixed rows in full precision."""
        return self.trained.astype(np.float32), from_int8(self.fixed, self.scale)

    def __len__(self) -> int:
        return len(self.trained) + len(self.fixed)

    def rows(self, ids: NDArray[np.int64]) -> Floats:
        """(n, d) vectors of some words, in full precision."""
        is_trained = ids < len(self.trained)
        vectors = np.empty((len(ids), self.trained.shape[1]), dtype=np.float32)
        vectors[is_trained] = self.trained[ids[is_trained]]
        beyond = ids[~is_trained] - len(self.trained)
        vectors[~is_trained] = from_int8(self.fixed[beyond], self.scale[beyond])
        return vectors
