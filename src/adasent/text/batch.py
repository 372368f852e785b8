"""Ids of several texts -> batches of similar length: which rows go together, and the padded array.

Lengths travel with the ids. Masks are always made from lengths, never from the padding id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adasent.text.vocabulary import PAD_ID

#: Pyramid cells a batch may hold. A batch of ordinary sentences stays far below it; texts of
#: hundreds of words are put into smaller batches so that memory stays bounded.
MAX_CELLS = 250_000


class Batch(NamedTuple):
    """Padded ids of B texts."""

    ids: np.ndarray  # (B, T) int64, padded on the right
    lengths: np.ndarray  # (B,) words, at least 1


def pad(rows: Sequence[np.ndarray]) -> Batch:
    """Stack id arrays of different length."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.full((len(rows), int(lengths.max())), PAD_ID, dtype=np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return Batch(ids, lengths)


def n_cells(lengths: np.ndarray, height: int | None = None) -> np.ndarray:
    """Units in the pyramid of a text of each length: T(T+1)/2, or less with a height."""
    levels = lengths if height is None else np.minimum(lengths, height)
    cells: np.ndarray = lengths * levels - levels * (levels - 1) // 2
    return cells


def length_buckets(
    lengths: np.ndarray,
    batch_size: int,
    *,
    max_cells: int = MAX_CELLS,
    height: int | None = None,
) -> list[np.ndarray]:
    """Partition rows into batches of similar length: index arrays, in order of length.

    A batch has at most ``batch_size`` rows and ``max_cells`` cells, of pyramids of at most
    ``height`` levels; a single longer row makes a batch of its own. Rows of equal length keep their
    order: who shuffles them first meets other neighbours.
    """
    order = np.argsort(lengths, kind="stable")
    ends = np.cumsum(n_cells(lengths[order], height))
    batches: list[np.ndarray] = []
    start = used = 0
    while start < len(order):
        full = int(np.searchsorted(ends, used + max_cells, side="right"))
        stop = max(start + 1, min(start + batch_size, full))
        batches.append(order[start:stop])
        start, used = stop, int(ends[stop - 1])
    return batches
