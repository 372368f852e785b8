# mypy: ignore-errors
"""Triton kernels of the pyramid on CUDA: what a level needs beside its matrix products.

One program owns a stretch of a sentence and walks along the positions of a level. What two cells
share (the unit between them, the gradient that comes from both parents) stays in registers, and so
does the pooled level. Every number has one writer and one order of summation: a run repeats bit for
bit.

A unit is read as a tile of Q rows and P columns, both powers of two: its dimension q N + n, which
is of group n, lies in row q and column n. What a group shares is then a row that is broadcast, and
a sum over a group is one down a column.

A level of n units a sentence is B n rows of D numbers, of B sentences, from a start on in the rows
of each of K models; gradients at units are of one level alone. A row of the product, of W numbers,
holds of one unit W_L h, W_R h, and what it adds as a left and as a right child to the scores of
both copies: D, D, 2 N and 2 N numbers. A row that products read as a unit, or add to as its
gradient, has F numbers. Where W and F are more than that, products read zeros behind it.
"""

import triton
import triton.language as tl

from adasent.pyramid import RELU_CAP

CAP = tl.constexpr(RELU_CAP)


@triton.jit
def _tile(D: tl.constexpr, N: tl.constexpr, Q: tl.constexpr, P: tl.constexpr):
    """Dimensions (Q, P) and whether they exist, groups (1, P) and whether they exist."""
    group = tl.arange(0, P)[None, :]
    dimension = tl.arange(0, Q)[:, None] * N + group
    there = group < N
    return dimension, there & (dimension < D), group, there


@triton.jit
def _activate(argument, RELU: tl.constexpr):
    if RELU:
        return tl.where(argument < 0.0, 0.0, tl.where(argument > CAP, CAP, argument))
    small = tl.exp(-2.0 * tl.abs(argument))  # at most 1: no overflow
    size = (1.0 - small) / (1.0 + small)
    return tl.where(argument < 0.0, -size, size)


@triton.jit
def _slope(kept, RELU: tl.constexpr):
    """f' from what was kept of a composition: of tanh its value, of relu its argument."""
    if RELU:
        return ((kept >= 0.0) & (kept <= CAP)).to(kept.dtype)
    return 1.0 - kept * kept


@triton.jit
def _read_cell(
    below, product, dimension, group, inside, there,
    D: tl.constexpr, N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """Right child of a cell, and what both products add: to its composition, and to its scores."""
    other = product + W
    return (
        tl.load(below + D + dimension, mask=inside, other=0.0),
        tl.load(product + dimension, mask=inside, other=0.0),
        tl.load(other + D + dimension, mask=inside, other=0.0),
        tl.load(product + 2 * D + group, mask=there, other=0.0),
        tl.load(product + 2 * D + N + group, mask=there, other=0.0),
        tl.load(other + 2 * D + 2 * N + group, mask=there, other=0.0),
        tl.load(other + 2 * D + 3 * N + group, mask=there, other=0.0),
    )


@triton.jit
def _fill_up(rows, start, stop, SIZE: tl.constexpr, WHOLE: tl.constexpr):
    """Zeros behind the SIZE numbers of each of these rows, less than 8, if rows are longer."""
    if WHOLE > SIZE:
        column = SIZE + tl.arange(0, 8)[None, :]
        zeros = tl.zeros((16, 8), rows.dtype.element_ty)
        for j in range(start, stop, 16):
            row = j + tl.arange(0, 16)[:, None]
            inside = (row < stop) & (column < WHOLE)
            tl.store(rows + row * WHOLE + column, zeros, mask=inside)


# Nothing is compiled anew for a level or a batch: sizes are multiplied by constants that tell all
# that is to be known of where rows begin.
_SIZES = ["n_sentences", "n_words", "n_levels", "level"]


@triton.jit(do_not_specialize=[*_SIZES, "below_start", "unit_start", "unit_rows", "pooled_rows"])
def forward_kernel(
    below, product, bias, lengths, before, units, factors, kept, gates, pooled, ties,
    n_sentences, n_words, level, below_start, unit_start, unit_rows, pooled_rows,
    D: tl.constexpr, N: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, W: tl.constexpr,
    F: tl.constexpr, ROUNDED: tl.constexpr, SEGMENT: tl.constexpr, CUT: tl.constexpr,
    PACKED: tl.constexpr, FIRST: tl.constexpr, RELU: tl.constexpr, MAX: tl.constexpr,
    KEEP: tl.constexpr,
):  # fmt: skip
    """Level ``level``, counted from 0, of all sentences, and its maximum or mean.

    The first level is copied from ``below``, which are the words; of the others ``product`` is
    ready, and ``below`` has the same rows as ``units``. Units that no word reaches are zeros where
    they are kept, and unwritten else. If products read ROUNDED units, these are ``factors``.
    ``pooled`` has so many rows for each sentence: a level is one, or, if sentences are CUT, they
    are segments.

    PACKED units are of one model and without padding, those of the longest sentence, the last one,
    first; ``before`` counts the words of all that are before a sentence's own.
    """
    sentence = tl.program_id(0).to(tl.int64)
    if PACKED:
        rank = sentence
        sentence = n_sentences - 1 - rank
    start = tl.program_id(1) * SEGMENT
    dimension, inside, group, there = _tile(D, N, Q, P)
    n_units = n_words - level
    n_reached = tl.load(lengths + sentence).to(tl.int32) - level
    stop = min(start + SEGMENT, n_units)
    model = sentence // n_sentences
    unit = sentence % n_sentences * n_units
    child = unit if FIRST else unit + sentence % n_sentences
    if PACKED:
        stop = min(stop, n_reached)  # behind its own units are another sentence's
        unit = tl.load(before + sentence) - rank * level
        child = child if FIRST else unit + rank
    n_lowest = n_sentences * n_words  # cells begin above the lowest level
    below += (model * (n_lowest if FIRST else unit_rows) + below_start) * D
    units += (model * unit_rows + unit_start) * D
    factors += (model * unit_rows + unit_start) * F
    kept += (model * (unit_rows - n_lowest) + unit_start - n_lowest) * D
    gates += (model * (unit_rows - n_lowest) + unit_start - n_lowest) * (2 * N)
    product += model * n_lowest * W
    own = model * (D + 2 * N) + bias
    none = tl.zeros((Q, P), below.dtype.element_ty)
    best = none - float("inf")
    n_best = none
    total = none
    if not FIRST:
        shift = tl.load(own + dimension, mask=inside, other=0.0)
        shift_left = tl.load(own + D + group, mask=there, other=0.0)
        shift_right = tl.load(own + D + N + group, mask=there, other=0.0)
    end = min(stop, n_reached)
    some = start < n_reached
    left = tl.load(below + (child + start) * D + dimension, mask=inside & some, other=0.0)
    if not FIRST:
        row = child + start
        right, of_left, of_right, a, b, c, d = _read_cell(
            below + row * D,
            product + row * W,
            dimension,
            group,
            inside & some,
            there & some,
            D,
            N,
            W,
        )
    for j in range(start, end):
        some = j + 1 < end
        row = child + j + 1
        if FIRST:
            value = left
            left = tl.load(below + row * D + dimension, mask=inside & some, other=0.0)
        else:
            argument = shift + of_left + of_right
            for_left = shift_left + a + c
            for_right = shift_right + b + d
            after = right
            # What the next cell needs is on its way while this one is computed.
            right, of_left, of_right, a, b, c, d = _read_cell(
                below + row * D, product + row * W, dimension, group,
                inside & some, there & some, D, N, W,
            )  # fmt: skip
            highest = tl.maximum(tl.maximum(for_left, for_right), 0.0)
            for_left = tl.exp(for_left - highest)
            for_right = tl.exp(for_right - highest)
            rest = tl.exp(0.0 - highest)
            whole = for_left + for_right + rest
            for_left /= whole
            for_right /= whole
            rest /= whole
            composed = _activate(argument, RELU)
            value = for_left * left + for_right * after + rest * composed
            left = after
            if KEEP:
                if RELU:
                    tl.store(kept + (unit + j) * D + dimension, argument, mask=inside)
                else:
                    tl.store(kept + (unit + j) * D + dimension, composed, mask=inside)
                of_gates = gates + (unit + j) * (2 * N) + group
                tl.store(of_gates, for_left, mask=there)
                tl.store(of_gates + N, for_right, mask=there)
        tl.store(units + (unit + j) * D + dimension, value, mask=inside)
        if ROUNDED:
            tl.store(factors + (unit + j) * F + dimension, value, mask=inside)
        if MAX:
            above = (value > best) | (value != value)
            n_best = tl.where(above, 1.0, tl.where(value == best, n_best + 1.0, n_best))
            best = tl.where(above, value, best)
        else:
            total += value
    if KEEP:
        for j in range(max(start, n_reached), stop):
            tl.store(units + (unit + j) * D + dimension, none, mask=inside)
            if ROUNDED:
                tl.store(factors + (unit + j) * F + dimension, none, mask=inside)
    if ROUNDED:
        _fill_up(factors + unit * F, start, stop, D, F)
    place = (sentence * pooled_rows + (tl.program_id(1) if CUT else level)) * D + dimension
    if MAX:
        if not CUT:
            best = tl.where(n_best == 0.0, 0.0, best)
        tl.store(pooled + place, best, mask=inside)
        if KEEP:
            tl.store(ties + place, n_best, mask=inside)
    else:
        tl.store(pooled + place, total / max(n_reached, 1), mask=inside)


@triton.jit
def _read_gradient(
    below, d_units, kept, gates, dimension, group, inside, there,
    D: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Right child of a cell, the gradient at it, and what was kept of it."""
    return (
        tl.load(below + D + dimension, mask=inside, other=0.0),
        tl.load(d_units + dimension, mask=inside, other=0.0),
        tl.load(kept + dimension, mask=inside, other=0.0),
        tl.load(gates + group, mask=there, other=0.0),
        tl.load(gates + N + group, mask=there, other=0.0),
    )


@triton.jit(do_not_specialize=[*_SIZES, "unit_start", "product_start", "unit_rows", "product_rows"])
def backward_kernel(
    below, kept, gates, d_units, pooled, ties, d_pooled, lengths, d_below, d_product, d_bias,
    n_sentences, n_words, n_levels, level, unit_start, product_start, unit_rows, product_rows,
    D: tl.constexpr, N: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, W: tl.constexpr,
    F: tl.constexpr, SEGMENT: tl.constexpr, TOP: tl.constexpr, RELU: tl.constexpr,
    MAX: tl.constexpr,
):  # fmt: skip
    """From the gradient at the units of a level to that at the product below it.

    ``level`` is the one below, whose units get the gradient of their pooling and of what the cells
    above copy of them; what comes through the product is added later. A TOP level has no cells
    above it. ``d_bias`` has a row for each sentence and segment, to which every level adds.
    """
    sentence = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * SEGMENT
    dimension, inside, group, there = _tile(D, N, Q, P)
    n_units = n_words - level
    n_reached = tl.load(lengths + sentence).to(tl.int32) - level
    stop = min(start + SEGMENT, n_units)
    model = sentence // n_sentences
    unit = sentence % n_sentences * n_units
    cell = unit - sentence % n_sentences
    n_lowest = n_sentences * n_words
    cell_start = unit_start + n_sentences * n_units - n_lowest
    below += (model * unit_rows + unit_start) * D
    kept += (model * (unit_rows - n_lowest) + cell_start) * D
    gates += (model * (unit_rows - n_lowest) + cell_start) * (2 * N)
    d_units += model * n_sentences * (n_units - 1) * F
    d_below += model * n_sentences * n_units * F
    d_product += (model * product_rows + product_start) * W
    kind = below.dtype.element_ty
    none = tl.zeros((Q, P), kind)
    nothing = tl.zeros((1, P), kind)
    place = (sentence * n_levels + level) * D + dimension
    d_level = tl.load(d_pooled + place, mask=inside, other=0.0)
    if MAX:
        highest = tl.load(pooled + place, mask=inside, other=0.0)
        d_level /= tl.maximum(tl.load(ties + place, mask=inside, other=1.0), 1.0)
    else:
        d_level /= max(n_reached, 1)
    # Of the cell before: what goes to its right child.
    d_right = none
    through = none
    score_left = nothing
    score_right = nothing
    sum_through = none
    sum_left = nothing
    sum_right = nothing
    first = max(start - 1, 0)
    left = tl.load(
        below + (unit + first) * D + dimension, mask=inside & (first < n_reached), other=0.0
    )
    some = first + 1 < n_reached
    if not TOP:
        right, gradient, stored, to_left, to_right = _read_gradient(
            below + (unit + first) * D, d_units + (cell + first) * F, kept + (cell + first) * D,
            gates + (cell + first) * (2 * N), dimension, group, inside & some, there & some, D, N,
        )  # fmt: skip
    for j in range(first, stop):
        mine = j >= start
        if MAX:
            d_own = tl.where((left == highest) & (j < n_reached), d_level, 0.0)
        else:
            d_own = tl.where(j < n_reached, d_level, 0.0)
        if TOP:
            left = tl.load(
                below + (unit + j + 1) * D + dimension, mask=inside & (j + 1 < n_reached), other=0.0
            )
        else:
            now, after = gradient, right
            slope = _slope(stored.to(kind), RELU)
            composed = stored.to(kind)
            if RELU:
                composed = _activate(composed, RELU)
            for_left, for_right = to_left.to(kind), to_right.to(kind)
            # What the next cell needs is on its way while this one is computed.
            some = (j + 2 < n_reached) & (j + 1 < stop)
            right, gradient, stored, to_left, to_right = _read_gradient(
                below + (unit + j + 1) * D, d_units + (cell + j + 1) * F,
                kept + (cell + j + 1) * D, gates + (cell + j + 1) * (2 * N),
                dimension, group, inside & some, there & some, D, N,
            )  # fmt: skip
            rest = 1.0 - for_left - for_right
            by_left = tl.sum(now * left, axis=0)[None, :]
            by_right = tl.sum(now * after, axis=0)[None, :]
            by_rest = tl.sum(now * composed, axis=0)[None, :]
            mean = for_left * by_left + for_right * by_right + rest * by_rest
            d_own += for_left * now + d_right
            # As a right child, of the cell before.
            row = d_product + (unit + j) * W
            tl.store(row + D + dimension, through, mask=inside & mine)
            tl.store(row + 2 * D + 2 * N + group, score_left, mask=there & mine)
            tl.store(row + 2 * D + 3 * N + group, score_right, mask=there & mine)
            # As a left child.
            d_right = for_right * now
            through = rest * now * slope
            score_left = for_left * (by_left - mean)
            score_right = for_right * (by_right - mean)
            tl.store(row + dimension, through, mask=inside & mine)
            tl.store(row + 2 * D + group, score_left, mask=there & mine)
            tl.store(row + 2 * D + N + group, score_right, mask=there & mine)
            sum_through += tl.where(mine, through, 0.0)
            sum_left += tl.where(mine, score_left, 0.0)
            sum_right += tl.where(mine, score_right, 0.0)
            left = after
        tl.store(d_below + (unit + j) * F + dimension, d_own, mask=inside & mine)
    if not TOP:
        _fill_up(d_product + unit * W, start, stop, 2 * D + 4 * N, W)
        n_segments = tl.cdiv(n_words, SEGMENT)
        sums = d_bias + (sentence * n_segments + tl.program_id(1)) * (D + 2 * N)
        sum_through += tl.load(sums + dimension, mask=inside, other=0.0)
        tl.store(sums + dimension, sum_through, mask=inside)
        sum_left += tl.load(sums + D + group, mask=there, other=0.0)
        tl.store(sums + D + group, sum_left, mask=there)
        sum_right += tl.load(sums + D + N + group, mask=there, other=0.0)
        tl.store(sums + D + N + group, sum_right, mask=there)
