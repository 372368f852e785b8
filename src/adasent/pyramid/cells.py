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


def _keep(function: Any, **options: Any) -> Any:
    """Compile and keep the result on disk, where there is a place for it."""
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written to
        return numba.njit(**options)(function)


def _compiled(function: Any) -> Any:
    """Compile for speed.

    Sums may be reordered and products contracted; infinities and NaN keep their meaning. Division
    by zero gives what numpy gives: a check for it would keep loops from being vectorised.
    """
    fast = {"reassoc", "contract", "arcp", "nsz"}
    return _keep(function, fastmath=fast, error_model="numpy", nogil=True)


def _threaded(function: Any) -> Any:
    return _keep(function, parallel=True)


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


_LOG2E, _HALF, _LEAST = np.float32(1.4426950408889634), np.float32(0.5), np.float32(-126)
_E0, _E1, _E2, _E3, _E4, _E5, _E6 = (
    np.float32(c)
    for c in (
        1.000000001,
        0.6931472057,
        0.2402264689,
        0.05550328775,
        0.009618488978,
        0.001339993194,
        0.000153458082,
    )
)


@_compiled
def _polynomial_exp(values):
    """2^k times a polynomial fitted by us to 2^u, |u| <= 1/2; for values of at most 0."""
    exponents = np.empty(len(values), np.int32)
    for i in range(len(values)):
        y = max(values[i] * _LOG2E, _LEAST)
        k = np.floor(y + _HALF)
        u = y - k
        p = ((((_E6 * u + _E5) * u + _E4) * u + _E3) * u + _E2) * u + _E1
        values[i] = p * u + _E0
        exponents[i] = (np.int32(k) + np.int32(127)) << np.int32(23)
    scales = exponents.view(np.float32)
    for i in range(len(values)):
        values[i] *= scales[i]


@_compiled
def _library_exp(values):
    for i in range(len(values)):
        values[i] = math.exp(values[i])


def exp(values: Any) -> Any:
    """Exponentials in place, of values of at most 0; in single precision one that vectorises."""
    raise NotImplementedError


@overload(exp, strict=False)
def _exp(values: Any) -> Any:
    if values.dtype == types.float32:
        return lambda values: _polynomial_exp(values)
    return lambda values: _library_exp(values)


# Two habits below are for the compiler. Row slices are taken so that inner loops index by d alone:
# an index with an offset could be negative for all it knows, and such a loop is not vectorised. And
# flags are None or True, because a branch on None is decided when compiling: loops for cases that
# do not occur would slow down those that do.


@_compiled
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


@_compiled
def _forward_strip(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, strip, n_strips,
):  # fmt: skip
    size = below.shape[1]
    zero = below.dtype.type(0)
    cap = below.dtype.type(_CAP)
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
            row = pooled[i]
            if j == 0:
                for d in range(size):
                    row[d] = h[d]
            elif maximum is None:
                for d in range(size):
                    row[d] += h[d]
            else:
                for d in range(size):
                    row[d] = max(row[d], h[d])
        left_block = right_block
        cell_block += n
    if maximum is None:
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
            elif maximum is None:
                for d in range(size):
                    row[d] += h[d]
            else:
                for d in range(size):
                    row[d] = max(row[d], h[d])
        block += counts[j]
    if maximum is None:
        _divide_by_units(pooled, counts, strip, n_strips)


@_compiled
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


@_compiled
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


@_compiled
def _pool_backward_strip(level, counts, pooled, d_pooled, maximum, ties, d_level, strip, n_strips):
    if maximum is None:
        _share_mean(counts, d_pooled, ties, d_level, strip, n_strips)
    else:
        _share_maximum(level, counts, pooled, d_pooled, ties, d_level, strip, n_strips)


@_compiled
def _backward_strip(
    below, composed, gates, counts, d_above, d_below, d_product, d_bias, relu, strip, n_strips
):  # fmt: skip
    size = below.shape[1]
    zero = below.dtype.type(0)
    one = below.dtype.type(1)
    cap = below.dtype.type(_CAP)
    bias, gate_bias = d_bias[strip, :size], d_bias[strip, size:]
    n_blocks = len(counts)
    left_block = cell_block = 0
    for j in range(n_blocks):
        right_block = left_block + counts[j]
        above = counts[j + 1] if j + 1 < n_blocks else 0
        for i in range(strip, counts[j], n_strips):
            left = left_block + i
            s_left = d_product[left, 2 * size : 2 * size + 3]
            if j == 0:  # the first block holds nobody's right child
                d_product[left, size : 2 * size] = zero
                d_product[left, 2 * size + 3 :] = zero
            if i >= above:  # the last word of its sentence on this level: nobody's left child
                d_product[left, :size] = zero
                s_left[:] = zero
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
        cell_block += above


@_threaded
def _forward_threads(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, n_strips,
):  # fmt: skip
    for strip in numba.prange(n_strips):
        _forward_strip(
            below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
            relu, maximum, strip, n_strips,
        )  # fmt: skip


@_compiled
def _backward_one(
    below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below, d_product,
    d_bias, relu,
):  # fmt: skip
    _pool_backward_strip(below, counts, pooled, d_pooled, maximum, ties, d_below, 0, 1)
    _backward_strip(below, composed, gates, counts, d_above, d_below, d_product, d_bias, relu, 0, 1)


@_threaded
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


@_compiled
def _climb(
    words, product, matrix, compose_bias, gate_bias, counts, levels, units, products, relu, maximum
):  # fmt: skip
    below, n_rows, row = words, len(words), counts[0]
    _pool_strip(words, counts, levels[:row], maximum, 0, 1)
    for t in range(1, len(counts)):
        if t > 1:
            product = products[:n_rows]
            np.dot(below, matrix, product)
        n_cells = n_rows - counts[t - 1]
        above = units[t % 2, :n_cells]
        _forward_strip(
            below, product, compose_bias, gate_bias, counts[t - 1 :], above,
            levels[row : row + counts[t]], None, None, relu, maximum, 0, 1,
        )  # fmt: skip
        row += counts[t]
        below, n_rows = above, n_cells


def climb(
    words: np.ndarray,
    product: np.ndarray,
    matrix: np.ndarray,
    compose_bias: np.ndarray,
    gate_bias: np.ndarray,
    counts: np.ndarray,
    levels: np.ndarray,
    units: np.ndarray,
    products: np.ndarray,
    *,
    relu: bool,
    maximum: bool,
) -> None:
    """All levels of a batch pooled, in one call; needs scipy, whose matrix product numba uses.

    Parameters
    ----------
    words, product
        (n_words, D) units of the first level, and their product with the matrix.
    matrix
        (D, 2 D + 6).
    counts
        Rows of each block of the first level, int64.
    levels
        Filled: (n_words, D) level t of every text that has one, in place of its word t.
    units, products
        Scratch, (2, n_words or more, D) and (n_words or more, 2 D + 6).
    """
    assert len(product) == len(words) == len(levels)
    assert min(units.shape[1], len(products)) >= len(words)
    _climb(
        words, product, matrix, compose_bias, gate_bias, counts, levels, units, products,
        relu or None, maximum or None,
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
    counts
        Rows of each block of the level below, int64.
    above, pooled
        Filled: (cells, D), and (sentences that reach the level, D).
    composed, gates
        Filled for the backward pass, (cells, D) and (cells, 3); None where they are not wanted.
    maximum
        Pool by maximum rather than mean.
    n_strips
        Threads.
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
        _forward_strip(*arguments, 0, 1)
    else:
        _forward_threads(*arguments, n_strips)


def pool(level: np.ndarray, counts: np.ndarray, pooled: np.ndarray, *, maximum: bool) -> None:
    """Fill ``pooled`` (sentences, D) from the units of a level packed with ``counts``."""
    _pool_strip(level, counts, pooled, maximum or None, 0, 1)


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
    _pool_backward_strip(level, counts, pooled, d_pooled, maximum or None, ties, d_level, 0, 1)


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
        below, pooled, d_pooled, maximum or None, ties, composed, gates, counts, d_above, d_below,
        d_product, d_bias, relu or None,
    )  # fmt: skip
    if n_strips == 1:
        _backward_one(*arguments)
    else:
        _backward_threads(*arguments, n_strips)
