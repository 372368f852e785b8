# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""From the gradient at a level to that at the level below, as one compiled pass.

Arrays, blocks and strips are those of :mod:`.compiled_forward`, and its two habits are kept here.
"""

from __future__ import annotations

import numba
import numpy as np

from adasent.pyramid import RELU_CAP
from adasent.pyramid.compiling import compiled, threaded


@compiled
def _share_maximum(level, counts, pooled, d_pooled, ties, d_level, strip, n_strips):
    """The gradient at a maximum, shared by the units that are equal to it."""
    size = level.shape[1]
    zero, one = level.dtype.type(0), level.dtype.type(1)
    block = 0
    for j in range(len(counts)):
        for i in range(strip, counts[j], n_strips):
            h, row, tie = level[block + i], pooled[i], ties[i]
            if j == 0:
                for d in range(size):
                    tie[d] = one if h[d] == row[d] else zero
            else:
                for d in range(size):
                    tie[d] += one if h[d] == row[d] else zero
        block += counts[j]
    for i in range(strip, counts[0], n_strips):
        tie, g = ties[i], d_pooled[i]
        for d in range(size):
            tie[d] = g[d] / tie[d]
    block = 0
    for j in range(len(counts)):
        for i in range(strip, counts[j], n_strips):
            h, row, share, out = level[block + i], pooled[i], ties[i], d_level[block + i]
            for d in range(size):
                out[d] = share[d] if h[d] == row[d] else zero
        block += counts[j]


@compiled
def _share_mean(counts, d_pooled, ties, d_level, strip, n_strips):
    """The gradient at a mean, an equal part for each unit."""
    size = d_level.shape[1]
    n_units = len(counts)
    for i in range(strip, counts[0], n_strips):
        while counts[n_units - 1] <= i:
            n_units -= 1
        scale = d_level.dtype.type(1) / d_level.dtype.type(n_units)
        share, g = ties[i], d_pooled[i]
        for d in range(size):
            share[d] = scale * g[d]
    block = 0
    for j in range(len(counts)):
        for i in range(strip, counts[j], n_strips):
            share, out = ties[i], d_level[block + i]
            for d in range(size):
                out[d] = share[d]
        block += counts[j]


@compiled
def pool_backward_strip(level, counts, pooled, d_pooled, maximum, ties, d_level, strip, n_strips):
    """Fill the gradient at the units of a level from that at the pooled level; ties share it."""
    if maximum is None:
        _share_mean(counts, d_pooled, ties, d_level, strip, n_strips)
    else:
        _share_maximum(level, counts, pooled, d_pooled, ties, d_level, strip, n_strips)


@compiled
def backward_strip(
    below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below, d_product,
    d_bias, relu, strip, n_strips,
):  # fmt: skip
    """Fill the gradient at a level below, at its products, and add that at the biases."""
    pool_backward_strip(below, counts, pooled, d_pooled, maximum, ties, d_below, strip, n_strips)
    size = below.shape[1]
    zero = below.dtype.type(0)
    one = below.dtype.type(1)
    cap = below.dtype.type(RELU_CAP)
    bias, gate_bias = d_bias[strip, :size], d_bias[strip, size:]
    n_blocks = len(counts)
    left_block = unit_block = 0
    for j in range(n_blocks):
        right_block = left_block + counts[j]
        above = counts[j + 1] if j + 1 < n_blocks else 0
        for i in range(strip, counts[j], n_strips):
            left = left_block + i
            s_left = d_product[left, 2 * size : 2 * size + 3]
            if j == 0:  # the first block holds nobody's right child
                d_product[left, size : 2 * size] = zero
                d_product[left, 2 * size + 3 :] = zero
            if i >= above:  # the last word of its text on this level: nobody's left child
                d_product[left, :size] = zero
                s_left[:] = zero
                continue
            right, unit = right_block + i, unit_block + i
            h_left, h_right, c, g = below[left], below[right], composed[unit], d_above[unit]
            w0, w1, w2 = gates[unit, 0], gates[unit, 1], gates[unit, 2]
            g0 = g1 = g2 = zero
            for d in range(size):
                g0 += g[d] * h_left[d]
                g1 += g[d] * h_right[d]
                g2 += g[d] * c[d]
            mean = w0 * g0 + w1 * g1 + w2 * g2
            g0, g1, g2 = w0 * (g0 - mean), w1 * (g1 - mean), w2 * (g2 - mean)
            s_right = d_product[right, 2 * size + 3 :]
            s_left[0], s_left[1], s_left[2] = g0, g1, g2
            s_right[0], s_right[1], s_right[2] = g0, g1, g2
            gate_bias[0] += g0
            gate_bias[1] += g1
            gate_bias[2] += g2
            p_left, p_right = d_product[left, :size], d_product[right, size : 2 * size]
            if relu is None:
                for d in range(size):
                    p_left[d] = w2 * g[d] * (one - c[d] * c[d])
            else:
                for d in range(size):
                    p_left[d] = w2 * g[d] if zero < c[d] < cap else zero
            for d in range(size):
                p_right[d] = p_left[d]
            for d in range(size):
                bias[d] += p_left[d]
            d_left, d_right = d_below[left], d_below[right]
            for d in range(size):
                d_left[d] += w0 * g[d]
            for d in range(size):
                d_right[d] += w1 * g[d]
        left_block = right_block
        unit_block += above


@threaded
def backward_threads(
    below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below, d_product,
    d_bias, relu, n_strips,
):  # fmt: skip
    """All strips at once."""
    for strip in numba.prange(n_strips):
        backward_strip(
            below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below,
            d_product, d_bias, relu, strip, n_strips,
        )  # fmt: skip


def level_backward(
    below: np.ndarray,
    pooled: np.ndarray,
    d_pooled: np.ndarray,
    ties: np.ndarray,
    composed: np.ndarray,
    gates: np.ndarray,
    counts: np.ndarray,
    d_above: np.ndarray,
    d_below: np.ndarray,
    d_product: np.ndarray,
    d_bias: np.ndarray,
    *,
    relu: bool,
    maximum: bool,
    n_strips: int = 1,
) -> None:
    """From the gradient at a level to that at the level below, but for its matrix products.

    Parameters
    ----------
    pooled, d_pooled
        (texts, D) the level below pooled, and the gradient there.
    ties
        Scratch, (texts, D).
    d_above
        (units, D) the whole gradient at the units of the level.
    d_below
        Filled: (rows, D) gradient from pooling and from the gates' copies. What comes through the
        matrix products, ``d_product @ [W_L | W_R | G_L | G_R].T``, is the caller's to add.
    d_product
        Filled: (rows, 2 D + 6).
    d_bias
        Added to: (n_strips, D + 3), composition and gates side by side.
    """
    arguments = (
        below, pooled, d_pooled, maximum or None, ties, composed, gates, counts, d_above, d_below,
        d_product, d_bias, relu or None,
    )  # fmt: skip
    if n_strips == 1:
        backward_strip(*arguments, 0, 1)
    else:
        backward_threads(*arguments, n_strips)
