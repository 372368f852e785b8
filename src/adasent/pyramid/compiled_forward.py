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
from adasent.pyramid.compiling import compiled, inlined, threaded
from adasent.pyramid.lanes import WIDTH, at, exp, load, number, splat, store, tanh

#: Units whose gates are worked out before the first of them is mixed. What was stored a moment ago
#: is slow to load otherwise than it was stored.
_AHEAD = 8

# Flags are None or True, because a branch on None is decided when compiling: cases that do not
# occur take no time. Rows are pointers; of the last lanes of a row there are only n numbers, and n
# is None elsewhere.


@inlined
def _shares(left, right, one):
    """Softmax of the scores of left child, right child and composition, the last being 0."""
    e0, e1 = exp(left), exp(right)
    share = one / (one + e0 + e1)
    return e0 * share, e1 * share, share


@inlined
def _put(gates, k, step, n, shares):
    """Gates of left child, right child and composition, each ``step`` numbers after the other."""
    store(gates, k, n, shares[0])
    store(gates, k + step, n, shares[1])
    store(gates, k + 2 * step, n, shares[2])


@inlined
def _scores(left, right, bias, k, n):
    return load(left, k, n) + load(right, k, n) + load(bias, k, n)


@inlined
def _gates(left, right, bias, n_groups, one, wide, reach, gates, grouped):
    """The gates of a unit; in ``wide`` such that those of any lanes of dimensions lie in a row.

    Dimension d is of group d mod N: after the N gates of a kind, the first ones come again.
    """
    if grouped is None:
        score_left = splat(number(left, 0) + number(right, 0) + number(bias, 0))
        score_right = splat(number(left, 1) + number(right, 1) + number(bias, 1))
        shares = _shares(score_left, score_right, one)
        if gates is not None:
            _put(gates, 0, 1, 1, shares)
        _put(wide, 0, reach, None, shares)
    else:
        for k in range(0, n_groups, WIDTH):
            n = min(n_groups - k, WIDTH)
            score_left = _scores(left, right, bias, k, n)
            score_right = _scores(left, right, bias, n_groups + k, n)
            shares = _shares(score_left, score_right, one)
            if gates is not None:
                _put(gates, k, n_groups, n, shares)
            _put(wide, k, reach, None, shares)
        for first in range(0, 3 * reach, reach):
            for k in range(n_groups, n_groups + WIDTH, n_groups):
                store(wide, first + k, None, load(wide, first, None))


@inlined
def _pool(h, pooled, new, maximum, d, n):
    """Lanes of a unit to what the units before it, unless it is new, were pooled to."""
    if new:
        store(pooled, d, n, h)
    elif maximum is None:
        store(pooled, d, n, load(pooled, d, n) + h)
    else:
        store(pooled, d, n, max(load(pooled, d, n), h))


@inlined
def _unit(p_left, p_right, bias, left, right, shares, composed, unit, pooled, new, flags, d, n):
    """Lanes of a unit from dimension d on: composed, mixed, and pooled with those before it."""
    relu, maximum, zero, cap = flags
    c = load(p_left, d, n) + load(p_right, d, n) + load(bias, d, n)
    c = tanh(c) if relu is None else min(cap, max(zero, c))
    if composed is not None:
        store(composed, d, n, c)
    h = shares[0] * load(left, d, n) + shares[1] * load(right, d, n) + shares[2] * c
    store(unit, d, n, h)
    _pool(h, pooled, new, maximum, d, n)


@compiled
def forward_strip(
    below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
    relu, maximum, grouped, strip, n_strips,
):  # fmt: skip
    """Fill a level, as it is and pooled, for the texts of a strip."""
    size, width, n_groups = below.shape[1], product.shape[1], len(gate_bias) // 2
    reach = n_groups + 2 * WIDTH
    room = np.zeros(_AHEAD * 3 * reach, below.dtype)
    one, zero, cap = below.dtype.type(1), below.dtype.type(0), below.dtype.type(RELU_CAP)
    flags = relu, maximum, zero, cap
    rows, products, units, levels = at(below, 0), at(product, 0), at(above, 0), at(pooled, 0)
    kept_composed, kept_gates, wide = at(composed, 0), at(gates, 0), at(room, 0)
    b_compose, b_gate = at(compose_bias, 0), at(gate_bias, 0)
    step = WIDTH % n_groups
    left_block = unit_block = 0
    for j in range(len(counts) - 1):
        right_block = left_block + counts[j]
        for start in range(strip, counts[j + 1], _AHEAD * n_strips):
            stop = min(start + _AHEAD * n_strips, counts[j + 1])
            own = wide
            for i in range(start, stop, n_strips):
                left = at(products, (left_block + i) * width + 2 * size)
                right = at(products, (right_block + i) * width + 2 * size + 2 * n_groups)
                kept = at(kept_gates, (unit_block + i) * 3 * n_groups)
                _gates(left, right, b_gate, n_groups, one, own, reach, kept, grouped)
                own = at(own, 3 * reach)
            own = wide
            for i in range(start, stop, n_strips):
                left, right = at(rows, (left_block + i) * size), at(rows, (right_block + i) * size)
                p_left = at(products, (left_block + i) * width)
                p_right = at(products, (right_block + i) * width + size)
                c = at(kept_composed, (unit_block + i) * size)
                unit, text = at(units, (unit_block + i) * size), at(levels, i * size)
                group = 0
                for d in range(0, size, WIDTH):
                    shares = (
                        load(own, group, None),
                        load(own, reach + group, None),
                        load(own, 2 * reach + group, None),
                    )
                    if d + WIDTH <= size:
                        _unit(
                            p_left, p_right, b_compose, left, right, shares, c, unit, text,
                            j == 0, flags, d, None,
                        )  # fmt: skip
                    else:
                        _unit(
                            p_left, p_right, b_compose, left, right, shares, c, unit, text,
                            j == 0, flags, d, size - d,
                        )  # fmt: skip
                    group += step
                    if group >= n_groups:
                        group -= n_groups
                own = at(own, 3 * reach)
        left_block = right_block
        unit_block += counts[j + 1]
    if maximum is None:
        _divide_by_units(pooled, counts[1:], strip, n_strips)
    room[0] = zero  # it lives until here


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
    size, block = level.shape[1], 0
    units, levels = at(level, 0), at(pooled, 0)
    for j in range(len(counts)):
        for i in range(strip, counts[j], n_strips):
            unit, text = at(units, (block + i) * size), at(levels, i * size)
            for d in range(0, size, WIDTH):
                n = min(size - d, WIDTH)
                _pool(load(unit, d, n), text, j == 0, maximum, d, n)
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
