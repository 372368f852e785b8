# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""From the units of a level to those of the next, and pooled, as one compiled pass.

Takes numpy arrays and fills numpy arrays; needs numba, knows no torch. The matrix products around
it are the caller's: with P = h [W_L | W_R | A_L | A_R] of the level below, (rows, 2 D + 4 N), a
unit reads its left child's first D columns and its right child's next D. A scores the gates of N
groups of dimensions: how far the share of the left child, then of the right one, is above that of
the composition.

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


@inlined
def _gates(left, right, bias, gates, grouped):
    """Softmax of the scores (0, left, right) of each group: gates (3 N,) left, right, composed."""
    one = gates.dtype.type(1)
    if grouped is None:
        e0, e1 = exp(left[0] + right[0] + bias[0]), exp(left[1] + right[1] + bias[1])
        scale = one / (one + e0 + e1)
        gates[0], gates[1], gates[2] = e0 * scale, e1 * scale, scale
    else:
        n = len(gates) // 3
        l0, l1, r0, r1, b0, b1 = left[:n], left[n:], right[:n], right[n:], bias[:n], bias[n:]
        w0, w1, w2 = gates[:n], gates[n : 2 * n], gates[2 * n :]
        for k in range(n):
            e0, e1 = exp(l0[k] + r0[k] + b0[k]), exp(l1[k] + r1[k] + b1[k])
            scale = one / (one + e0 + e1)
            w0[k], w1[k], w2[k] = e0 * scale, e1 * scale, scale


@inlined
def _compose(left, right, bias, composed, relu):
    """f of the sum of both products and the bias."""
    if relu is None:
        for d in range(len(composed)):
            composed[d] = tanh(left[d] + right[d] + bias[d])
    else:
        zero, cap = composed.dtype.type(0), composed.dtype.type(RELU_CAP)
        for d in range(len(composed)):
            composed[d] = min(max(left[d] + right[d] + bias[d], zero), cap)


@inlined
def _mix(left, right, composed, gates, unit, grouped):
    """The unit: each dimension by the gates of its group, d mod N."""
    if grouped is None:
        w0, w1, w2 = gates[0], gates[1], gates[2]
        for d in range(len(unit)):
            unit[d] = w0 * left[d] + w1 * right[d] + w2 * composed[d]
    else:
        n = len(gates) // 3
        v0, v1, v2 = gates[:n], gates[n : 2 * n], gates[2 * n :]
        for first in range(0, len(unit), n):
            a, b, c = left[first:], right[first:], composed[first:]
            h = unit[first:]
            for k in range(n):
                h[k] = v0[k] * a[k] + v1[k] * b[k] + v2[k] * c[k]


@compiled
def forward_strip(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, grouped, strip, n_strips,
):  # fmt: skip
    """Fill a level, as it is and pooled, for the texts of a strip."""
    size, n_scores = below.shape[1], len(gate_bias)
    own_gates = np.empty(n_scores // 2 * 3, below.dtype)
    own_composed = np.empty(size, below.dtype)
    left_block = unit_block = 0
    for j in range(len(counts) - 1):
        right_block = left_block + counts[j]
        n = counts[j + 1]
        for i in range(strip, n, n_strips):
            p_left, p_right = product[left_block + i], product[right_block + i]
            h_left, h_right = below[left_block + i], below[right_block + i]
            unit = unit_block + i
            w = own_gates if gates is None else gates[unit]
            c = own_composed if composed is None else composed[unit]
            s_left, s_right = p_left[2 * size : 2 * size + n_scores], p_right[2 * size + n_scores :]
            _gates(s_left, s_right, gate_bias, w, grouped)
            _compose(p_left[:size], p_right[size : 2 * size], compose_bias, c, relu)
            h = above[unit]
            _mix(h_left, h_right, c, w, h, grouped)
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
    relu, maximum, grouped, n_strips,
):  # fmt: skip
    """All strips at once."""
    for strip in numba.prange(n_strips):
        forward_strip(
            below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
            relu, maximum, grouped, strip, n_strips,
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
        (rows, D) units of the level below, and their product with the matrices.
    compose_bias, gate_bias
        (D,) and (2 N,).
    above, pooled
        Filled: (units, D), and (texts that reach the level, D).
    composed, gates
        Filled for the backward pass, (units, D) and (units, 3 N); None where they are not wanted.
    maximum
        Pool by maximum rather than mean.
    """
    # The compiled code checks no bounds.
    assert len(product) == len(below)
    assert product.shape[1] == 2 * below.shape[1] + 2 * len(gate_bias)
    assert len(above) == len(below) - counts[0]
    for kept in (composed, gates):
        assert kept is None or len(kept) == len(above)
    arguments = (
        below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
        relu or None, maximum or None, len(gate_bias) > 2 or None,
    )  # fmt: skip
    if n_strips == 1:
        forward_strip(*arguments, 0, 1)
    else:
        forward_threads(*arguments, n_strips)
