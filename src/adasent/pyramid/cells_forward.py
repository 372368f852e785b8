# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""Compiled: from the units of a level to those of the next, and pooled. See :mod:`.cells`."""

from __future__ import annotations

import numba
import numpy as np

from adasent.pyramid.approximations import exp, tanh
from adasent.pyramid.compiling import compiled, inlined, threaded
from adasent.pyramid.constants import RELU_CAP

# Two habits below are for the compiler. Row slices are taken so that inner loops index by d alone:
# an index with an offset could be negative for all it knows, and such a loop is not vectorised. And
# flags are None or True, because a branch on None is decided when compiling: loops for cases that
# do not occur would slow down those that do.


@compiled
def _gates_of_block(left_scores, right_scores, bias, gates):
    """Softmax of three scores for each cell of a block: gates (3, cells)."""
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
    """Fill a level, as it is and pooled, for the sentences of a strip."""
    size = below.shape[1]
    zero = below.dtype.type(0)
    cap = below.dtype.type(RELU_CAP)
    own_gates = np.empty((3, counts[1]), below.dtype)
    left_block = cell_block = 0
    for j in range(len(counts) - 1):
        right_block = left_block + counts[j]
        n = counts[j + 1]
        # Of all cells of the block, also by each of several threads: it is a small part.
        _gates_of_block(
            product[left_block : left_block + n, 2 * size :],
            product[right_block : right_block + n, 2 * size :],
            gate_bias,
            own_gates[:, :n],
        )
        for i in range(strip, n, n_strips):
            left, right, cell = left_block + i, right_block + i, cell_block + i
            p_left, p_right = product[left, :size], product[right, size:]
            h_left, h_right, h = below[left], below[right], above[cell]
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
                kept = composed[cell]
                if relu is None:
                    for d in range(size):
                        kept[d] = tanh(p_left[d] + p_right[d] + compose_bias[d])
                else:
                    for d in range(size):
                        kept[d] = min(max(p_left[d] + p_right[d] + compose_bias[d], zero), cap)
                for d in range(size):
                    h[d] = w0 * h_left[d] + w1 * h_right[d] + w2 * kept[d]
            if gates is not None:
                gates[cell, 0], gates[cell, 1], gates[cell, 2] = w0, w1, w2
            _pool_unit(h, pooled[i], j == 0, maximum)
        left_block = right_block
        cell_block += n
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
    """Sums over the units of a level -> means. Sentence i has as many units as blocks reach it."""
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
    """Pool the units of a level for the sentences of a strip."""
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


@compiled
def climb_batch(
    words, product, matrix, compose_bias, gate_bias, counts, levels, units, products, relu, maximum
):  # fmt: skip
    """All levels, one after the other, with the matrix products between them."""
    below, n_rows, row = words, len(words), counts[0]
    pool_strip(words, counts, levels[:row], maximum, 0, 1)
    for t in range(1, len(counts)):
        if t > 1:
            product = products[:n_rows]
            np.dot(below, matrix, product)
        n_cells = n_rows - counts[t - 1]
        above = units[t % 2, :n_cells]
        forward_strip(
            below, product, compose_bias, gate_bias, counts[t - 1 :], above,
            levels[row : row + counts[t]], None, None, relu, maximum, 0, 1,
        )  # fmt: skip
        row += counts[t]
        below, n_rows = above, n_cells
