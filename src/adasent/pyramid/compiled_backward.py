# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""From the gradient at a level to that at the level below, as one compiled pass.

Arrays, blocks and strips are those of :mod:`.compiled_forward`, and its two habits are kept here.
"""

from __future__ import annotations

import numba
import numpy as np

from adasent.pyramid import RELU_CAP
from adasent.pyramid.compiling import compiled, inlined, threaded


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


@inlined
def _through_gates(gradient, left, right, composed, gates, scores, grouped):
    """Fill scores (2 N,): the gradient at what the gates of a unit are the softmax of."""
    n = len(scores) // 2
    if grouped is None:
        g0 = g1 = g2 = gradient.dtype.type(0)
        for d in range(len(gradient)):
            g0 += gradient[d] * left[d]
            g1 += gradient[d] * right[d]
            g2 += gradient[d] * composed[d]
        mean = gates[0] * g0 + gates[1] * g1 + gates[2] * g2
        scores[0], scores[1] = gates[0] * (g0 - mean), gates[1] * (g1 - mean)
    else:
        w0, w1, w2 = gates[:n], gates[n : 2 * n], gates[2 * n :]
        s0, s1 = scores[:n], scores[n:]
        # The gradient at both shares less their mean, which is linear: group by group, summed.
        for first in range(0, len(gradient), n):
            g, a, b, c = gradient[first:], left[first:], right[first:], composed[first:]
            for k in range(n):
                mean = w0[k] * a[k] + w1[k] * b[k] + w2[k] * c[k]
                to_a, to_b = w0[k] * g[k] * (a[k] - mean), w1[k] * g[k] * (b[k] - mean)
                s0[k] = to_a if first == 0 else s0[k] + to_a
                s1[k] = to_b if first == 0 else s1[k] + to_b


@inlined
def _through_unit(gradient, composed, gates, d_left, d_right, d_product, relu, grouped):
    """Add the copies' part to the children; fill the gradient at the composition's argument."""
    one, zero = gradient.dtype.type(1), gradient.dtype.type(0)
    cap = gradient.dtype.type(RELU_CAP)
    n = len(gates) // 3 if grouped is not None else len(gradient)
    for first in range(0, len(gradient), n):
        g, c, p = gradient[first:], composed[first:], d_product[first:]
        to_left, to_right = d_left[first:], d_right[first:]
        if grouped is None:
            w0, w1, w2 = gates[0], gates[1], gates[2]
            for k in range(n):
                p[k] = w2 * g[k]
            for k in range(n):
                to_left[k] += w0 * g[k]
            for k in range(n):
                to_right[k] += w1 * g[k]
        else:
            v0, v1, v2 = gates[:n], gates[n : 2 * n], gates[2 * n :]
            for k in range(n):
                p[k] = v2[k] * g[k]
            for k in range(n):
                to_left[k] += v0[k] * g[k]
            for k in range(n):
                to_right[k] += v1[k] * g[k]
        if relu is None:
            for k in range(n):
                p[k] *= one - c[k] * c[k]
        else:
            for k in range(n):
                p[k] = p[k] if zero < c[k] < cap else zero


@compiled
def backward_strip(
    below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below, d_product,
    d_bias, relu, grouped, strip, n_strips,
):  # fmt: skip
    """Fill the gradient at a level below, at its products, and add that at the biases."""
    pool_backward_strip(below, counts, pooled, d_pooled, maximum, ties, d_below, strip, n_strips)
    size, n_scores = below.shape[1], gates.shape[1] // 3 * 2
    zero = below.dtype.type(0)
    bias, gate_bias = d_bias[strip, :size], d_bias[strip, size:]
    n_blocks = len(counts)
    left_block = unit_block = 0
    for j in range(n_blocks):
        right_block = left_block + counts[j]
        above = counts[j + 1] if j + 1 < n_blocks else 0
        for i in range(strip, counts[j], n_strips):
            left = left_block + i
            p_left, s_left = d_product[left, :size], d_product[left, 2 * size : 2 * size + n_scores]
            if j == 0:  # the first block holds nobody's right child
                d_product[left, size : 2 * size] = zero
                d_product[left, 2 * size + n_scores :] = zero
            if i >= above:  # the last word of its text on this level: nobody's left child
                p_left[:] = zero
                s_left[:] = zero
                continue
            right, unit = right_block + i, unit_block + i
            p_right = d_product[right, size : 2 * size]
            s_right = d_product[right, 2 * size + n_scores :]
            w, c, g = gates[unit], composed[unit], d_above[unit]
            _through_gates(g, below[left], below[right], c, w, s_left, grouped)
            _through_unit(g, c, w, d_below[left], d_below[right], p_left, relu, grouped)
            for d in range(size):
                p_right[d] = p_left[d]
            for d in range(size):
                bias[d] += p_left[d]
            for k in range(n_scores):
                s_right[k] = s_left[k]
            for k in range(n_scores):
                gate_bias[k] += s_left[k]
        left_block = right_block
        unit_block += above


@threaded
def backward_threads(
    below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below, d_product,
    d_bias, relu, grouped, n_strips,
):  # fmt: skip
    """All strips at once."""
    for strip in numba.prange(n_strips):
        backward_strip(
            below, pooled, d_pooled, maximum, ties, composed, gates, counts, d_above, d_below,
            d_product, d_bias, relu, grouped, strip, n_strips,
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
        matrix products, ``d_product @ [W_L | W_R | A_L | A_R].T``, is the caller's to add.
    d_product
        Filled: (rows, 2 D + 4 N).
    d_bias
        Added to: (n_strips, D + 2 N), composition and gates side by side.
    """
    arguments = (
        below, pooled, d_pooled, maximum or None, ties, composed, gates, counts, d_above, d_below,
        d_product, d_bias, relu or None, gates.shape[1] > 3 or None,
    )  # fmt: skip
    if n_strips == 1:
        backward_strip(*arguments, 0, 1)
    else:
        backward_threads(*arguments, n_strips)
