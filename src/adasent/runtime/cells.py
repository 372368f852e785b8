"""One level of the pyramids of a batch from the level below, in numpy.

The twin of :mod:`adasent.pyramid.cells`, where rows, blocks and ``counts`` are described, for where
numba is not installed or would take longer to start than the work takes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adasent.pyramid.constants import RELU_CAP
from adasent.runtime.arrays import Floats, Ints


def level_numpy(
    below: Floats,
    product: Floats,
    compose_bias: Floats,
    gate_bias: Floats,
    counts: Ints,
    above: Floats,
    gates: Floats,
    *,
    relu: bool,
    gate_out: Floats | None = None,
    gate_out_bias: Floats | None = None,
) -> None:
    """Fill the units and gates of a level.

    Parameters
    ----------
    below, product
        (rows, D) units of the level below, and their product with [W_L | W_R | G_L | G_R],
        (rows, 2 D + 2 H).
    compose_bias, gate_bias
        (D,) and (H,).
    counts
        Rows of each block of the level below.
    above, gates
        Filled: (cells, D) and (cells, 3).
    gate_out, gate_out_bias
        (3, H) and (3,) of a gate that is an MLP; None where H is 3.
    """
    size, width = below.shape[1], len(gate_bias)
    shift, cell = int(counts[0]), 0
    for first, last in left_children(counts):
        # Right children follow their left ones at the distance of a block, which shrinks where
        # texts end.
        right = slice(shift + cell, shift + cell + last - first)
        left, cells = slice(first, last), slice(cell, cell + last - first)
        units = above[cells]
        np.add(product[left, :size], product[right, size : 2 * size], out=units)
        units += compose_bias
        if relu:
            np.clip(units, 0.0, RELU_CAP, out=units)
        else:
            np.tanh(units, out=units)
        scores = product[left, 2 * size : 2 * size + width] + product[right, 2 * size + width :]
        scores += gate_bias
        if gate_out is not None:
            scores = np.tanh(scores) @ gate_out.T + gate_out_bias
        share = np.exp(scores - scores.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        gates[cells] = share
        units *= share[:, 2:]
        units += share[:, :1] * below[left]
        units += share[:, 1:2] * below[right]
        cell = cells.stop


def pool_numpy(level: Floats, counts: Ints, pooled: Floats, *, maximum: bool) -> None:
    """Fill ``pooled`` (texts, D) from the units of a level packed with ``counts``."""
    # Blocks of equal size are reduced together: (blocks, texts, D).
    firsts = np.flatnonzero(np.diff(counts, prepend=-1))
    row = 0
    for first, last in zip(firsts, [*firsts[1:], len(counts)], strict=True):
        n = int(counts[first])
        stop = row + (int(last) - int(first)) * n
        blocks = level[row:stop].reshape(-1, n, level.shape[1])
        reduced = blocks.max(axis=0) if maximum else blocks.sum(axis=0)
        if row == 0:
            pooled[:] = reduced
        elif maximum:
            np.maximum(pooled[:n], reduced, out=pooled[:n])
        else:
            pooled[:n] += reduced
        row = stop
    if not maximum:
        n_units = np.searchsorted(-counts, -np.arange(len(pooled)), side="left")
        pooled /= n_units[:, None].astype(np.float32)


def left_children(counts: Ints) -> Iterator[tuple[int, int]]:
    """Stretches of rows that have a right neighbour, in order: all but the end of some blocks."""
    starts = np.cumsum(counts) - counts
    shrinks = np.flatnonzero(counts[1:] < counts[:-1])  # blocks whose last rows have none
    firsts = [0, *starts[shrinks + 1].tolist()]
    lasts = [*(starts[shrinks] + counts[shrinks + 1]).tolist(), int(starts[-1])]
    for first, last in zip(firsts, lasts, strict=True):
        if last > first:
            yield first, last
