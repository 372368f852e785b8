"""The element-wise part of a level of the pyramid as one compiled pass, forward and backward.

Numpy arrays in, numpy arrays filled; needs numba, knows no torch. The matrix products around it
are the caller's: with P = h [W_L | W_R | G_L | G_R] of the level below, (rows, 2 D + 6), a cell
reads its left child's first D columns and its right child's next D, and likewise the gates' three.

Rows are position-major as in :mod:`adasent.pyramid.packed`: sentences longest first, a block of
rows for each position. ``counts`` are the rows of each block of the level *below*; the level above
has one block less, of ``counts[1:]`` rows. The left child of row i of block j is row i of block j
below, the right child row i of block j + 1.

Sentence i is worked on by strip i mod ``n_strips``, so that threads never write the same row.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from adasent.pyramid.constants import RELU_CAP

#: Sums may be reordered and products contracted; infinities and NaN keep their meaning. Division
#: by zero gives what numpy gives: the check for it would keep loops from being vectorised.
_compiled = numba.njit(
    fastmath={"reassoc", "contract", "arcp", "nsz"}, error_model="numpy", cache=True, nogil=True
)
_CAP = RELU_CAP

_ONE, _LIMIT = np.float32(1), np.float32(9)
_P0, _P1, _P2, _P3, _P4 = (
    np.float32(c)
    for c in (0.9999999796, 0.1338098036, 0.003495533594, 2.060816926e-05, 1.33533916e-08)
)
_Q1, _Q2, _Q3, _Q4 = (
    np.float32(c) for c in (0.4671429602, 0.02587677651, 0.0003285544782, 7.776038358e-07)
)


@_compiled
def _rational_tanh(x):
    """x P(x^2) / Q(x^2), fitted by us for the least relative error on |x| <= 9."""
    x = min(max(x, -_LIMIT), _LIMIT)
    u = x * x
    p = (((_P4 * u + _P3) * u + _P2) * u + _P1) * u + _P0
    q = (((_Q4 * u + _Q3) * u + _Q2) * u + _Q1) * u + _ONE
    return min(max(x * p / q, -_ONE), _ONE)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent; in single precision one that vectorises, with an error below 5e-7."""
    raise NotImplementedError


@overload(tanh, strict=False)
def _tanh(x: Any) -> Any:
    if x == types.float32:
        return lambda x: _rational_tanh(x)
    return lambda x: math.tanh(x)


@_compiled
def _forward_strip(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, strip, n_strips,
):  # fmt: skip
    size = below.shape[1]
    keep_composed, keep_gates = composed.shape[0] > 0, gates.shape[0] > 0
    zero = below.dtype.type(0)
    cap = below.dtype.type(_CAP)
    left_block = cell_block = 0
    for j in range(len(counts) - 1):
        right_block = left_block + counts[j]
        for i in range(strip, counts[j + 1], n_strips):
            left, right, cell = left_block + i, right_block + i, cell_block + i
            p_left, p_right = product[left], product[right]
            s0 = p_left[2 * size] + p_right[2 * size + 3] + gate_bias[0]
            s1 = p_left[2 * size + 1] + p_right[2 * size + 4] + gate_bias[1]
            s2 = p_left[2 * size + 2] + p_right[2 * size + 5] + gate_bias[2]
            top = max(s0, s1, s2)
            s0, s1, s2 = math.exp(s0 - top), math.exp(s1 - top), math.exp(s2 - top)
            total = s0 + s1 + s2
            s0, s1, s2 = s0 / total, s1 / total, s2 / total
            if keep_gates:
                gates[cell, 0], gates[cell, 1], gates[cell, 2] = s0, s1, s2
            h_left, h_right, h = below[left], below[right], above[cell]
            if relu:
                for d in range(size):
                    h[d] = min(max(p_left[d] + p_right[size + d] + compose_bias[d], zero), cap)
            else:
                for d in range(size):
                    h[d] = tanh(p_left[d] + p_right[size + d] + compose_bias[d])
            if keep_composed:
                c = composed[cell]
                for d in range(size):
                    c[d] = h[d]
            for d in range(size):
                h[d] = s0 * h_left[d] + s1 * h_right[d] + s2 * h[d]
            row = pooled[i]
            if j == 0:
                for d in range(size):
                    row[d] = h[d]
            elif maximum:
                for d in range(size):
                    row[d] = max(row[d], h[d])
            else:
                for d in range(size):
                    row[d] += h[d]
        left_block = right_block
        cell_block += counts[j + 1]
    if not maximum:
        _divide_by_units(pooled, counts[1:], strip, n_strips)


@_compiled
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


@_compiled
def _pool_strip(level, counts, pooled, maximum, strip, n_strips):
    size = level.shape[1]
    block = 0
    for j in range(len(counts)):
        for i in range(strip, counts[j], n_strips):
            h, row = level[block + i], pooled[i]
            if j == 0:
                for d in range(size):
                    row[d] = h[d]
            elif maximum:
                for d in range(size):
                    row[d] = max(row[d], h[d])
            else:
                for d in range(size):
                    row[d] += h[d]
        block += counts[j]
    if not maximum:
        _divide_by_units(pooled, counts, strip, n_strips)


@_compiled
def _pool_backward_strip(level, counts, pooled, d_pooled, maximum, ties, d_level, strip, n_strips):
    size = level.shape[1]
    n_blocks = len(counts)
    if maximum:
        block = 0
        for j in range(n_blocks):
            for i in range(strip, counts[j], n_strips):
                h, row, tie = level[block + i], pooled[i], ties[i]
                if j == 0:
                    for d in range(size):
                        tie[d] = h[d] == row[d]
                else:
                    for d in range(size):
                        tie[d] += h[d] == row[d]
            block += counts[j]
    else:
        n_units = n_blocks
        for i in range(strip, counts[0], n_strips):
            while counts[n_units - 1] <= i:
                n_units -= 1
            for d in range(size):
                ties[i, d] = n_units
    block = 0
    for j in range(n_blocks):
        for i in range(strip, counts[j], n_strips):
            out, g, tie = d_level[block + i], d_pooled[i], ties[i]
            if maximum:
                h, row = level[block + i], pooled[i]
                for d in range(size):
                    out[d] = g[d] / tie[d] if h[d] == row[d] else out.dtype.type(0)
            else:
                for d in range(size):
                    out[d] = g[d] / tie[d]
        block += counts[j]


@_compiled
def _backward_strip(
    below, composed, gates, counts, d_above, d_below, d_product, d_bias, relu, strip, n_strips
):  # fmt: skip
    size = below.shape[1]
    zero = below.dtype.type(0)
    one = below.dtype.type(1)
    cap = below.dtype.type(_CAP)
    bias = d_bias[strip]
    n_blocks = len(counts)
    left_block = cell_block = 0
    for j in range(n_blocks):
        right_block = left_block + counts[j]
        above = counts[j + 1] if j + 1 < n_blocks else 0
        if j == 0:  # the first block holds nobody's right child
            for i in range(strip, counts[0], n_strips):
                p = d_product[i]
                for d in range(size, 2 * size):
                    p[d] = zero
                p[2 * size + 3] = p[2 * size + 4] = p[2 * size + 5] = zero
        for i in range(strip, counts[j], n_strips):
            left = left_block + i
            if i >= above:  # the last word of its sentence on this level: nobody's left child
                p = d_product[left]
                for d in range(size):
                    p[d] = zero
                p[2 * size] = p[2 * size + 1] = p[2 * size + 2] = zero
                continue
            right, cell = right_block + i, cell_block + i
            h_left, h_right, c, g = below[left], below[right], composed[cell], d_above[cell]
            w0, w1, w2 = gates[cell, 0], gates[cell, 1], gates[cell, 2]
            g0 = g1 = g2 = zero
            for d in range(size):
                g0 += g[d] * h_left[d]
                g1 += g[d] * h_right[d]
                g2 += g[d] * c[d]
            mean = w0 * g0 + w1 * g1 + w2 * g2
            g0, g1, g2 = w0 * (g0 - mean), w1 * (g1 - mean), w2 * (g2 - mean)
            p_left, p_right = d_product[left], d_product[right]
            p_left[2 * size], p_left[2 * size + 1], p_left[2 * size + 2] = g0, g1, g2
            p_right[2 * size + 3], p_right[2 * size + 4], p_right[2 * size + 5] = g0, g1, g2
            bias[size] += g0
            bias[size + 1] += g1
            bias[size + 2] += g2
            if relu:
                for d in range(size):
                    inside = zero < c[d] < cap
                    p_left[d] = w2 * g[d] if inside else zero
            else:
                for d in range(size):
                    p_left[d] = w2 * g[d] * (one - c[d] * c[d])
            d_left, d_right = d_below[left], d_below[right]
            for d in range(size):
                p_right[size + d] = p_left[d]
                bias[d] += p_left[d]
                d_left[d] += w0 * g[d]
                d_right[d] += w1 * g[d]
        left_block = right_block
        cell_block += above


@numba.njit(parallel=True, cache=True)
def _forward_threads(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, n_strips,
):  # fmt: skip
    for strip in numba.prange(n_strips):
        _forward_strip(
            below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
            relu, maximum, strip, n_strips,
        )  # fmt: skip


@numba.njit(parallel=True, cache=True)
def _backward_threads(
    below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below, d_product,
    d_bias, relu, n_strips,
):  # fmt: skip
    for strip in numba.prange(n_strips):
        _pool_backward_strip(
            below, counts, pooled, d_pooled, maximum, ties, d_below, strip, n_strips
        )
        _backward_strip(
            below, composed, gates, counts, d_above, d_below, d_product, d_bias, relu,
            strip, n_strips,
        )  # fmt: skip


def level_forward(
    below: np.ndarray,
    product: np.ndarray,
    compose_bias: np.ndarray,
    gate_bias: np.ndarray,
    counts: np.ndarray,
    above: np.ndarray,
    pooled: np.ndarray,
    composed: np.ndarray,
    gates: np.ndarray,
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
    counts
        Rows of each block of the level below, int64.
    above, pooled
        Filled: (cells, D), and (sentences that reach the level, D).
    composed, gates
        Filled for the backward pass, (cells, D) and (cells, 3); without rows they are not kept.
    maximum
        Pool by maximum rather than mean.
    n_strips
        Threads.
    """
    arguments = (
        below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
        relu, maximum,
    )  # fmt: skip
    if n_strips == 1:
        _forward_strip(*arguments, 0, 1)
    else:
        _forward_threads(*arguments, n_strips)


def pool(level: np.ndarray, counts: np.ndarray, pooled: np.ndarray, *, maximum: bool) -> None:
    """Fill ``pooled`` (sentences, D) from the units of a level packed with ``counts``."""
    _pool_strip(level, counts, pooled, maximum, 0, 1)


def pool_backward(
    level: np.ndarray,
    counts: np.ndarray,
    pooled: np.ndarray,
    d_pooled: np.ndarray,
    ties: np.ndarray,
    d_level: np.ndarray,
    *,
    maximum: bool,
) -> None:
    """Fill ``d_level`` with the gradient of the pooled level alone; equal maxima share it.

    Parameters
    ----------
    ties
        Scratch, (sentences, D).
    """
    _pool_backward_strip(level, counts, pooled, d_pooled, maximum, ties, d_level, 0, 1)


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
        (sentences, D) the level below pooled, and the gradient there.
    d_above
        (cells, D) the whole gradient at the units of the level.
    d_below
        Filled: (rows, D) gradient from pooling and from the gates' copies. What comes through the
        matrix products, ``d_product @ [W_L | W_R | G_L | G_R].T``, is the caller's to add.
    d_product
        Filled: (rows, 2 D + 6).
    d_bias
        Added to: (n_strips, D + 3), composition and gates side by side.
    """
    arguments = (
        below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below,
        d_product, d_bias, relu,
    )  # fmt: skip
    if n_strips == 1:
        _pool_backward_strip(below, counts, pooled, d_pooled, maximum, ties, d_below, 0, 1)
        _backward_strip(
            below, composed, gates, counts, d_above, d_below, d_product, d_bias, relu, 0, 1
        )
    else:
        _backward_threads(*arguments, n_strips)
