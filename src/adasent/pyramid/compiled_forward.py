# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""From the units of a level to those of the next, and pooled, as one compiled pass.

Takes numpy arrays and fills numpy arrays; needs numba, knows no torch. The matrix products around
it are the caller's: with P = h [W_L | W_R | G_L | G_R] of the level below, (rows, 2 D + 6), a unit
reads its left child's first D columns and its right child's next D, and likewise the gates' three.

Rows lie as :mod:`adasent.pyramid.layout` says. ``counts`` are the rows of each block of the level
*below*; the level above has one block less, of ``counts[1:]`` rows. The left child of row i of
block j is row i of block j below, the right child row i of block j + 1.

Text i is worked on by strip i mod ``n_strips``, so that threads never write the same row.
"""

from __future__ import annotations

import numba
import numpy as np

from adasent.pyramid import RELU_CAP
from adasent.pyramid.compiling import compiled, exp, inlined, tanh, threaded

# Two habits below are for the compiler. Row slices are taken so that inner loops index by d alone:
# an index with an offset could be negative for all it knows, and such a loop is not vectorised. And
# flags are None or True, because a branch on None is decided when compiling: loops for cases that
# do not occur would slow down those that do.


@compiled
def _gates_of_block(left_scores, right_scores, bias, gates):
    """Softmax of three scores for each unit of a block: gates (3, units)."""
    one = gates.dtype.type(1)
    w0, w1, w2 = gates[0], gates[1], gates[2]
    for i in range(len(w0)):
        w0[i] = left_scores[i, 0] + right_scores[i, 3]
        w1[i] = left_scores[i, 1] + right_scores[i, 4]
        w2[i] = left_scores[i, 2] + right_scores[i, 5]
    for i in range(len(w0)):
        s0, s1, s2 = w0[i] + bias[0], w1[i] + bias[1], w2[i] + bias[2]
        top = max(max(s0, s1), s2)
        w0[i], w1[i], w2[i] = s0 - top, s1 - top, s2 - top
    exp(w0)
    exp(w1)
    exp(w2)
    for i in range(len(w0)):
        scale = one / (w0[i] + w1[i] + w2[i])
        w0[i] *= scale
        w1[i] *= scale
        w2[i] *= scale


@compiled
def forward_strip(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, strip, n_strips,
):  # fmt: skip
    """Fill a level, as it is and pooled, for the texts of a strip."""
    size = below.shape[1]
    zero = below.dtype.type(0)
    cap = below.dtype.type(RELU_CAP)
    own_gates = np.empty((3, counts[1]), below.dtype)
    left_block = unit_block = 0
    for j in range(len(counts) - 1):
        right_block = left_block + counts[j]
        n = counts[j + 1]
        # Of all units of the block, also by each of several threads: it is a small part.
        _gates_of_block(
            product[left_block : left_block + n, 2 * size :],
            product[right_block : right_block + n, 2 * size :],
            gate_bias,
            own_gates[:, :n],
        )
        for i in range(strip, n, n_strips):
            left, right, unit = left_block + i, right_block + i, unit_block + i
            p_left, p_right = product[left, :size], product[right, size:]
            h_left, h_right, h = below[left], below[right], above[unit]
            w0, w1, w2 = own_gates[0, i], own_gates[1, i], own_gates[2, i]
            if composed is None:
                if relu is None:
                    for d in range(size):
                        c = tanh(p_left[d] + p_right[d] + compose_bias[d])
                        h[d] = w0 * h_left[d] + w1 * h_right[d] + w2 * c
                else:
                    for d in range(size):
                        c = min(max(p_left[d] + p_right[d] + compose_bias[d], zero), cap)
                        h[d] = w0 * h_left[d] + w1 * h_right[d] + w2 * c
            else:
                kept = composed[unit]
                if relu is None:
                    for d in range(size):
                        kept[d] = tanh(p_left[d] + p_right[d] + compose_bias[d])
                else:
                    for d in range(size):
                        kept[d] = min(max(p_left[d] + p_right[d] + compose_bias[d], zero), cap)
                for d in range(size):
                    h[d] = w0 * h_left[d] + w1 * h_right[d] + w2 * kept[d]
            if gates is not None:
                gates[unit, 0], gates[unit, 1], gates[unit, 2] = w0, w1, w2
            _pool_unit(h, pooled[i], j == 0, maximum)
        left_block = right_block
        unit_block += n
    if maximum is None:
        _divide_by_units(pooled, counts[1:], strip, n_strips)


@inlined
def _pool_unit(unit, pooled, first, maximum):
    """Add a unit to what the units before it, if any, were pooled to."""
    if first:
        for d in range(len(unit)):
            pooled[d] = unit[d]
    elif maximum is None:
        for d in range(len(unit)):
            pooled[d] += unit[d]
    else:
        for d in range(len(unit)):
            pooled[d] = max(pooled[d], unit[d])


@compiled
def _divide_by_units(pooled, counts, strip, n_strips):
    """Sums over the units of a level -> means. Text i has as many units as blocks reach it."""
    n_units = len(counts)
    for i in range(strip, counts[0], n_strips):
        while counts[n_units - 1] <= i:
            n_units -= 1
        scale = pooled.dtype.type(1) / pooled.dtype.type(n_units)
        row = pooled[i]
        for d in range(row.shape[0]):
            row[d] *= scale


@compiled
def pool_strip(level, counts, pooled, maximum, strip, n_strips):
    """Fill ``pooled`` (texts, D) from the units of a level, for the texts of a strip."""
    block = 0
    for j in range(len(counts)):
        for i in range(strip, counts[j], n_strips):
            _pool_unit(level[block + i], pooled[i], j == 0, maximum)
        block += counts[j]
    if maximum is None:
        _divide_by_units(pooled, counts, strip, n_strips)


@threaded
def forward_threads(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, n_strips,
):  # fmt: skip
    """All strips at once."""
    for strip in numba.prange(n_strips):
        forward_strip(
            below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
            relu, maximum, strip, n_strips,
        )  # fmt: skip


def level_forward(
    below: np.ndarray,
    product: np.ndarray,
    compose_bias: np.ndarray,
    gate_bias: np.ndarray,
    counts: np.ndarray,
    above: np.ndarray,
    pooled: np.ndarray,
    composed: np.ndarray | None,
    gates: np.ndarray | None,
    *,
    relu: bool,
    maximum: bool,
    n_strips: int = 1,
) -> None:
    """Fill the units of a level, pooled and as they are.

    Parameters
    ----------
    below, product
        (rows, D) units of the level below, and their product with the four matrices.
    compose_bias, gate_bias
        (D,) and (3,).
    above, pooled
        Filled: (units, D), and (texts that reach the level, D).
    composed, gates
        Filled for the backward pass, (units, D) and (units, 3); None where they are not wanted.
    maximum
        Pool by maximum rather than mean.
    """
    # The compiled code checks no bounds.
    assert len(product) == len(below)
    assert len(above) == len(below) - counts[0]
    for kept in (composed, gates):
        assert kept is None or len(kept) == len(above)
    arguments = (
        below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
        relu or None, maximum or None,
    )  # fmt: skip
    if n_strips == 1:
        forward_strip(*arguments, 0, 1)
    else:
        forward_threads(*arguments, n_strips)
