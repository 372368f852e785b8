# mypy: ignore-errors
"""Triton kernels of the pyramid on CUDA: what a level needs beside its matrix products.

One program owns a stretch of a sentence and walks along the positions of a level. What two cells
share (the unit between them, the gradient that comes from both parents) stays in registers, and so
does the pooled level. Every number has one writer and one order of summation: a run repeats bit for
bit.

A unit is read as a tile of Q rows and P columns, both powers of two: its dimension q N + n, which
is of group n, lies in row q and column n. What a group shares is then a row that is broadcast, and
a sum over a group is one down a column.

A level of n units a sentence is (K, B n, D), of K models and B sentences, with a stride between the
models; gradients are without one. A row of the product holds, of one unit, W_L h, W_R h, and what
it adds as a left and as a right child to the scores of both copies: D, D, 2 N and 2 N numbers.
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
        return tl.where((kept >= 0.0) & (kept <= CAP), 1.0, 0.0)
    return 1.0 - kept * kept


@triton.jit(do_not_specialize=["n_words", "level"])
def forward_kernel(
    below, product, bias, lengths, units, kept, gates, pooled, ties,
    n_sentences, n_words, level, below_rows, unit_rows, cell_rows, pooled_step,
    D: tl.constexpr, N: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, SEGMENT: tl.constexpr,
    CUT: tl.constexpr, FIRST: tl.constexpr, RELU: tl.constexpr, MAX: tl.constexpr,
    KEEP: tl.constexpr,
):  # fmt: skip
    """Level ``level``, counted from 0, of all sentences, and its maximum or mean.

    The first level is copied from ``below``; of the others ``product`` is ready. Units that no word
    reaches are zeros where they are kept, and unwritten else. ``pooled`` gets a row for each
    sentence, ``pooled_step`` numbers apart, and, if sentences are CUT, for each segment.
    """
    sentence = tl.program_id(0).to(tl.int64)
    start = tl.program_id(1) * SEGMENT
    dimension, inside, group, there = _tile(D, N, Q, P)
    n_units = n_words - level
    n_reached = tl.load(lengths + sentence).to(tl.int32) - level
    stop = min(start + SEGMENT, n_units)
    model = sentence // n_sentences
    unit = sentence % n_sentences * n_units
    child = unit if FIRST else unit + sentence % n_sentences
    width = 2 * D + 4 * N
    below += model * below_rows * D
    units += model * unit_rows * D
    kept += model * cell_rows * D
    gates += model * cell_rows * (2 * N)
    product += model * n_sentences * (n_units + 1) * width
    own = model * (D + 2 * N) + bias
    none = tl.zeros((Q, P), below.dtype.element_ty)
    best = none - float("inf")
    n_best = none
    total = none
    if not FIRST:
        shift = tl.load(own + dimension, mask=inside, other=0.0)
        shift_left = tl.load(own + D + group, mask=there, other=0.0)
        shift_right = tl.load(own + D + N + group, mask=there, other=0.0)
    left = tl.load(
        below + (child + start) * D + dimension, mask=inside & (start < n_reached), other=0.0
    )
    for j in range(start, min(stop, n_reached)):
        if FIRST:
            value = left
            left = tl.load(
                below + (child + j + 1) * D + dimension,
                mask=inside & (j + 1 < n_reached),
                other=0.0,
            )
        else:
            right = tl.load(below + (child + j + 1) * D + dimension, mask=inside, other=0.0)
            of_left = product + (child + j) * width
            of_right = of_left + width
            argument = tl.load(of_left + dimension, mask=inside, other=0.0)
            argument += tl.load(of_right + D + dimension, mask=inside, other=0.0) + shift
            for_left = tl.load(of_left + 2 * D + group, mask=there, other=0.0)
            for_left += (
                tl.load(of_right + 2 * D + 2 * N + group, mask=there, other=0.0) + shift_left
            )
            for_right = tl.load(of_left + 2 * D + N + group, mask=there, other=0.0)
            for_right += (
                tl.load(of_right + 2 * D + 3 * N + group, mask=there, other=0.0) + shift_right
            )
            highest = tl.maximum(tl.maximum(for_left, for_right), 0.0)
            for_left = tl.exp(for_left - highest)
            for_right = tl.exp(for_right - highest)
            rest = tl.exp(0.0 - highest)
            whole = for_left + for_right + rest
            for_left /= whole
            for_right /= whole
            rest /= whole
            composed = _activate(argument, RELU)
            value = for_left * left + for_right * right + rest * composed
            left = right
            if KEEP:
                if RELU:
                    tl.store(kept + (unit + j) * D + dimension, argument, mask=inside)
                else:
                    tl.store(kept + (unit + j) * D + dimension, composed, mask=inside)
                of_gates = gates + (unit + j) * (2 * N) + group
                tl.store(of_gates, for_left, mask=there)
                tl.store(of_gates + N, for_right, mask=there)
        tl.store(units + (unit + j) * D + dimension, value, mask=inside)
        if MAX:
            above = (value > best) | (value != value)
            n_best = tl.where(above, 1.0, tl.where(value == best, n_best + 1.0, n_best))
            best = tl.where(above, value, best)
        else:
            total += value
    if KEEP:
        for j in range(max(start, n_reached), stop):
            tl.store(units + (unit + j) * D + dimension, none, mask=inside)
    place = sentence * pooled_step + tl.program_id(1) * D + dimension
    if MAX:
        if not CUT:
            best = tl.where(n_best == 0.0, 0.0, best)
        tl.store(pooled + place, best, mask=inside)
        if KEEP:
            tl.store(ties + place, n_best, mask=inside)
    else:
        tl.store(pooled + place, total / max(n_reached, 1), mask=inside)


@triton.jit(do_not_specialize=["n_words", "level"])
def backward_kernel(
    below, kept, gates, d_units, pooled, ties, d_pooled, lengths, d_below, d_product, d_bias,
    n_sentences, n_words, level, unit_rows, cell_rows, product_rows, pooled_step, n_segments,
    D: tl.constexpr, N: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, SEGMENT: tl.constexpr,
    TOP: tl.constexpr, RELU: tl.constexpr, MAX: tl.constexpr,
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
    width = 2 * D + 4 * N
    below += model * unit_rows * D
    kept += model * cell_rows * D
    gates += model * cell_rows * (2 * N)
    d_units += model * n_sentences * (n_units - 1) * D
    d_below += model * n_sentences * n_units * D
    d_product += model * product_rows * width
    none = tl.zeros((Q, P), below.dtype.element_ty)
    nothing = tl.zeros((1, P), below.dtype.element_ty)
    place = sentence * pooled_step + dimension
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
            composes = j + 1 < n_reached
            known, shared = inside & composes, there & composes
            right = tl.load(below + (unit + j + 1) * D + dimension, mask=known, other=0.0)
            gradient = tl.load(d_units + (cell + j) * D + dimension, mask=known, other=0.0)
            stored = tl.load(kept + (cell + j) * D + dimension, mask=known, other=0.0)
            of_gates = gates + (cell + j) * (2 * N) + group
            to_left = tl.load(of_gates, mask=shared, other=0.0)
            to_right = tl.load(of_gates + N, mask=shared, other=0.0)
            rest = 1.0 - to_left - to_right
            composed = stored
            if RELU:
                composed = _activate(stored, RELU)
            by_left = tl.sum(gradient * left, axis=0)[None, :]
            by_right = tl.sum(gradient * right, axis=0)[None, :]
            by_rest = tl.sum(gradient * composed, axis=0)[None, :]
            mean = to_left * by_left + to_right * by_right + rest * by_rest
            d_own += to_left * gradient + d_right
            # As a right child, of the cell before.
            row = d_product + (unit + j) * width
            tl.store(row + D + dimension, through, mask=inside & mine)
            tl.store(row + 2 * D + 2 * N + group, score_left, mask=there & mine)
            tl.store(row + 2 * D + 3 * N + group, score_right, mask=there & mine)
            # As a left child.
            d_right = to_right * gradient
            through = rest * gradient * _slope(stored, RELU)
            score_left = to_left * (by_left - mean)
            score_right = to_right * (by_right - mean)
            tl.store(row + dimension, through, mask=inside & mine)
            tl.store(row + 2 * D + group, score_left, mask=there & mine)
            tl.store(row + 2 * D + N + group, score_right, mask=there & mine)
            sum_through += tl.where(mine, through, 0.0)
            sum_left += tl.where(mine, score_left, 0.0)
            sum_right += tl.where(mine, score_right, 0.0)
            left = right
        tl.store(d_below + (unit + j) * D + dimension, d_own, mask=inside & mine)
    if not TOP:
        sums = d_bias + (sentence * n_segments + tl.program_id(1)) * (D + 2 * N)
        sum_through += tl.load(sums + dimension, mask=inside, other=0.0)
        tl.store(sums + dimension, sum_through, mask=inside)
        sum_left += tl.load(sums + D + group, mask=there, other=0.0)
        tl.store(sums + D + group, sum_left, mask=there)
        sum_right += tl.load(sums + D + N + group, mask=there, other=0.0)
        tl.store(sums + D + N + group, sum_right, mask=there)
