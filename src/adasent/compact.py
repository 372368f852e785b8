"""The word table in fewer bytes: half precision for trained rows, eight bits for fixed ones.

Tables are rounded once, at the end of training. From then on packing and unpacking them loses
nothing, so a saved model predicts exactly as the one in memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def round_to_half(table: Floats) -> Floats:
    """The nearest values that half precision holds; a table out of its range stays as it is."""
    if table.size and float(np.abs(table).max()) > float(np.finfo(np.float16).max):
        return table
    return table.astype(np.float16).astype(np.float32)


def to_int8(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows as whole numbers from -127 to 127 and a power of two for each row.

    Powers of two make the product exact: packing an unpacked table gives the same bytes.

    Returns
    -------
    numbers
        (n, d).
    scale
        (n,); a row is ``numbers * scale``.
    """
    largest = np.abs(table).max(axis=1, initial=0.0)
    _, exponent = np.frexp(largest / np.float32(127))
    scale = np.ldexp(np.float32(1), np.maximum(exponent, -100)).astype(np.float32)
    # frexp gives 0.5 <= m < 1, so an exact power of two would be doubled; halve it again.
    scale = np.where(largest <= 127 * (scale / 2), scale / 2, scale).astype(np.float32)
    numbers = np.rint(table / scale[:, None]).astype(np.int8)
    return numbers, scale


def from_int8(numbers: NDArray[np.int8], scale: Floats) -> Floats:
    """Inverse of :func:`to_int8`, exact."""
    table: Floats = numbers.astype(np.float32) * scale[:, None]
    return table
