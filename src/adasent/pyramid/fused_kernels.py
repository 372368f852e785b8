# mypy: ignore-errors
"""Triton kernels of the fused pyramid, on tensors of the device; they know no host and no autograd.

One program owns a group of sentences of one model and climbs their levels, a barrier between two
levels. A tile of ROWS rows holds ROWS / GROUP positions of each sentence, position by position, so
that pooling is a reshape and a sum. Nothing is added with atomics: every number has one writer and
one order of summation, so a run repeats bit for bit.

Units lie in a ragged buffer, sentence after sentence, level after level: unit j of level k (from 0)
of a sentence of T words is row ``start + k T - k (k - 1) / 2 + j``, and its left child lies
``T - k + 1`` rows before it. Rows are padded from D to WIDTH columns of zeros (aligned loads),
tiles to SIZE, a power of two.

A cell has three outputs for each dimension: the argument of its composition, and how far its left
and its right child's share are scored above the composed one. Their matrices, biases and gradients
are three planes of one tensor. Gates of fewer groups come here repeated for every dimension.

Left and right children are multiplied side by side, [l | r] times [W_L ; W_R]: of two products in a
row, Triton gives the first a layout in which half of the warps repeat the other half's work.
"""

import triton
import triton.language as tl

from adasent.pyramid import RELU_CAP

CAP = tl.constexpr(RELU_CAP)
#: Beyond it one share of a softmax is all of it in float32, and its exponential stays finite.
MAX_SCORE = tl.constexpr(80.0)


@triton.jit
def _tanh(x):
    return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@triton.jit
def _activate(kept, RELU: tl.constexpr):
    """What was kept of a composition -> (c, f'). tanh keeps c; relu its argument, for f' at 0."""
    if RELU:
        composed = tl.where(kept < 0.0, 0.0, tl.where(kept > CAP, CAP, kept))
        slope = tl.where((kept >= 0.0) & (kept <= CAP), 1.0, 0.0)
    else:
        composed = kept
        slope = 1.0 - kept * kept
    return composed, slope


@triton.jit
def _seats(order, lengths, starts, model, place, n_sentences):
    """Sentence (numbered over the stack), length (0 for none) and first row of a model's places."""
    taken = place < n_sentences
    sentence = tl.load(order + model * n_sentences + place, mask=taken, other=0)
    sentence = model * n_sentences + sentence.to(tl.int32)
    length = tl.load(lengths + sentence, mask=taken, other=0)
    return sentence, length, tl.load(starts + sentence, mask=taken, other=0)


@triton.jit
def _longest(order, lengths, model, place, n_sentences):
    """Words of the first sentence of a group, which is its longest."""
    first = model * n_sentences
    return tl.load(lengths + first + tl.load(order + first + place))


@triton.jit
def _level_row(start, level, length, n_words, KEEP: tl.constexpr):
    """First row of a level; where units are not kept, two levels take turns."""
    if KEEP:
        row = start + (level * length - level * (level - 1) // 2)
    else:
        row = start + (level % 2) * n_words
    return row


@triton.jit
def _rows(buffer, row, live, d, WIDTH: tl.constexpr):
    """Rows of a buffer, columns d, as float32; zeros where not live."""
    mask = live[:, None] & (d < WIDTH)[None, :]
    at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
    return tl.load(buffer + at, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _pairs(
    buffer, row, live, other_live, k, STEP: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr
):
    """Rows, and beside them the rows STEP on: columns k of [buffer[row] | buffer[row + STEP]]."""
    d = k % SIZE
    other = k >= SIZE
    mask = tl.where(other[None, :], other_live[:, None], live[:, None]) & (d < WIDTH)[None, :]
    at = row.to(tl.int64)[:, None] * WIDTH + (tl.where(other, STEP * WIDTH, 0) + d)[None, :]
    return tl.load(buffer + at, mask=mask, other=0.0)


@triton.jit
def _weights(
    matrices, plane, k, n, ALONG_K: tl.constexpr, ALONG_N: tl.constexpr, D: tl.constexpr,
    SIZE: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Rows k of a plane's matrix of left children above that of right children, (2 SIZE, SIZE)."""
    d = k % SIZE
    at = (tl.where(k >= SIZE, D * D, 0) + d * ALONG_K)[:, None] + n[None, :] * ALONG_N
    inside = (d < D)[:, None] & (n < D)[None, :]
    return tl.load(matrices + plane * 2 * D * D + at, mask=inside, other=0.0).to(dtype)


@triton.jit
def _shares(score_left, score_right):
    """Softmax of (left, right, 0): the three shares of each dimension."""
    left = tl.exp(tl.minimum(score_left, MAX_SCORE, propagate_nan=tl.PropagateNan.ALL))
    right = tl.exp(tl.minimum(score_right, MAX_SCORE, propagate_nan=tl.PropagateNan.ALL))
    composed = 1.0 / (1.0 + left + right)
    return left * composed, right * composed, composed


@triton.jit
def _pool_tile(pooled, ties, unit, live, MAX: tl.constexpr):
    """Add a tile of units to what the tiles before it pooled, element by element."""
    if MAX:
        unit = tl.where(live[:, None], unit, float("-inf"))
        top = tl.maximum(pooled, unit, propagate_nan=tl.PropagateNan.ALL)
        ties = tl.where(pooled == top, ties, 0.0) + tl.where(unit == top, 1.0, 0.0)
        pooled = top
    else:
        pooled += tl.where(live[:, None], unit, 0.0)
    return pooled, ties


@triton.jit
def _store_level(
    levels, shares, pooled, ties, level, sentence, length, n_levels,
    D: tl.constexpr, SIZE: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr,
    MAX: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Reduce the pooled tile over positions and write one row a sentence."""
    d = tl.arange(0, SIZE)
    at = (sentence * n_levels + level).to(tl.int64)[:, None] * D + d[None, :]
    mask = (level < length)[:, None] & (d < D)[None, :]
    pooled = tl.reshape(pooled, (ROWS // GROUP, GROUP, SIZE))
    if MAX:
        ties = tl.reshape(ties, (ROWS // GROUP, GROUP, SIZE))
        best = tl.max(pooled, axis=0)
        is_nan = tl.max((pooled != pooled).to(tl.int32), axis=0)  # which tl.max passes over
        tl.store(levels + at, tl.where(is_nan > 0, float("nan"), best), mask=mask)
        if KEEP:
            count = tl.sum(tl.where(pooled == best[None, :, :], ties, 0.0), axis=0)
            tl.store(shares + at, 1.0 / tl.maximum(count, 1.0), mask=mask)
    else:
        n_units = tl.maximum(length - level, 1).to(tl.float32)
        tl.store(levels + at, tl.sum(pooled, axis=0) / n_units[:, None], mask=mask)


@triton.jit(do_not_specialize=["n_models", "n_sentences", "n_words", "n_levels", "capacity"])
def forward_kernel(
    words, lengths, order, starts, matrices, biases,
    levels, shares, units, kept, gates, steps,
    n_models, n_sentences, n_words, n_levels, capacity,
    D: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, GROUP: tl.constexpr,
    ROWS: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
    RELU: tl.constexpr, MAX: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Pooled levels of every sentence; with KEEP, also what the backward pass reads."""
    model = tl.program_id(0) % n_models
    group = tl.program_id(0) // n_models
    dtype: tl.constexpr = units.dtype.element_ty
    d = tl.arange(0, SIZE)
    column = (d < WIDTH)[None, :]
    slot = tl.arange(0, ROWS)
    sentence, length, start = _seats(
        order, lengths, starts, model, group * GROUP + slot % GROUP, n_sentences
    )  # of each row of a tile
    member, member_length, _member_start = _seats(
        order, lengths, starts, model, group * GROUP + tl.arange(0, GROUP), n_sentences
    )  # of each sentence of the group
    if not KEEP:
        start = sentence * 2 * n_words
    longest = _longest(order, lengths, model, group * GROUP, n_sentences)

    matrices += model * 6 * D * D
    biases += model * 3 * D + d
    bias = tl.load(biases, mask=d < D, other=0.0)[None, :]
    bias_left = tl.load(biases + D, mask=d < D, other=0.0)[None, :]
    bias_right = tl.load(biases + 2 * D, mask=d < D, other=0.0)[None, :]

    # Level 0: the words themselves.
    nothing = float("-inf") if MAX else 0.0
    pooled = tl.full((ROWS, SIZE), nothing, tl.float32)
    ties = tl.zeros((ROWS, SIZE), tl.float32)
    for first in range(0, longest, ROWS // GROUP):
        j = first + slot // GROUP
        live = j < length
        at = (sentence * n_words + j).to(tl.int64)[:, None] * D + d[None, :]
        unit = tl.load(words + at, mask=live[:, None] & (d < D)[None, :], other=0.0).to(dtype)
        row = start + j
        at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
        tl.store(units + at, unit, mask=live[:, None] & column)
        if KEEP:
            tl.store(steps + row, tl.zeros((ROWS,), tl.int32), mask=live)
        pooled, ties = _pool_tile(pooled, ties, unit.to(tl.float32), live, MAX)
    _store_level(levels, shares, pooled, ties, 0, member, member_length, n_levels,
                 D, SIZE, GROUP, ROWS, MAX, KEEP)  # fmt: skip

    for level in range(1, tl.minimum(longest, n_levels)):
        tl.debug_barrier()  # the level below is written by all warps, and read by all
        below = _level_row(start, level - 1, length, n_words, KEEP)
        here = _level_row(start, level, length, n_words, KEEP)
        pooled = tl.full((ROWS, SIZE), nothing, tl.float32)
        ties = tl.zeros((ROWS, SIZE), tl.float32)
        for first in range(0, longest - level, ROWS // GROUP):
            j = first + slot // GROUP
            live = j < length - level
            row = below + j
            product = tl.zeros((ROWS, SIZE), tl.float32) + bias
            score_left = tl.zeros((ROWS, SIZE), tl.float32) + bias_left
            score_right = tl.zeros((ROWS, SIZE), tl.float32) + bias_right
            for chunk in range(0, 2 * SIZE, CHUNK):
                k = chunk + tl.arange(0, CHUNK)
                children = _pairs(units, row, live, live, k, 1, WIDTH, SIZE)
                weight = _weights(matrices, 0, k, d, 1, D, D, SIZE, dtype)
                product = tl.dot(children, weight, product, input_precision=PRECISION)
                weight = _weights(matrices, 1, k, d, 1, D, D, SIZE, dtype)
                score_left = tl.dot(children, weight, score_left, input_precision=PRECISION)
                weight = _weights(matrices, 2, k, d, 1, D, D, SIZE, dtype)
                score_right = tl.dot(children, weight, score_right, input_precision=PRECISION)
            gate_left, gate_right, gate_composed = _shares(score_left, score_right)
            left = _rows(units, row, live, d, WIDTH)
            right = _rows(units, row + 1, live, d, WIDTH)

            keep = (product if RELU else _tanh(product)).to(dtype)
            composed, _slope = _activate(keep.to(tl.float32), RELU)
            unit = gate_left * left + gate_right * right + gate_composed * composed
            unit = unit.to(dtype)  # what is pooled is what is stored

            row = here + j
            at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
            tl.store(units + at, unit, mask=live[:, None] & column)
            if KEEP:
                tl.store(kept + at, keep, mask=live[:, None] & column)
                tl.store(gates + at, gate_left, mask=live[:, None] & column)
                at += capacity.to(tl.int64) * WIDTH
                tl.store(gates + at, gate_right, mask=live[:, None] & column)
                tl.store(steps + row, length - level + 1, mask=live)
            pooled, ties = _pool_tile(pooled, ties, unit.to(tl.float32), live, MAX)
        _store_level(levels, shares, pooled, ties, level, member, member_length, n_levels,
                     D, SIZE, GROUP, ROWS, MAX, KEEP)  # fmt: skip


@triton.jit(do_not_specialize=["n_models", "n_sentences", "n_words", "n_levels", "capacity"])
def backward_kernel(
    d_levels, lengths, order, starts, matrices,
    levels, shares, units, kept, gates, d_units, d_outputs, d_words,
    n_models, n_sentences, n_words, n_levels, capacity,
    D: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, GROUP: tl.constexpr,
    ROWS: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
    RELU: tl.constexpr, MAX: tl.constexpr,
):  # fmt: skip
    """Gradients by the words, and z and s (see README.md) of every cell, from the top level down.

    A unit collects from its pooled level and from the at most two cells above it, so each row is
    computed whole by one program. ``d_units`` holds two levels that take turns.
    """
    model = tl.program_id(0) % n_models
    group = tl.program_id(0) // n_models
    dtype: tl.constexpr = units.dtype.element_ty
    d = tl.arange(0, SIZE)
    column = (d < WIDTH)[None, :]
    slot = tl.arange(0, ROWS)
    sentence, length, start = _seats(
        order, lengths, starts, model, group * GROUP + slot % GROUP, n_sentences
    )
    longest = _longest(order, lengths, model, group * GROUP, n_sentences)

    matrices += model * 6 * D * D
    plane = capacity.to(tl.int64) * WIDTH
    top = tl.minimum(longest, n_levels)

    for climbed in range(0, top):
        level = top - 1 - climbed
        tl.debug_barrier()
        here = _level_row(start, level, length, n_words, True)
        above = here + (length - level)
        below = here - (length - level + 1)
        d_here = (sentence * 2 + level % 2) * n_words
        d_above = (sentence * 2 + (level + 1) % 2) * n_words
        for first in range(0, longest - level, ROWS // GROUP):
            j = first + slot // GROUP
            live = j < length - level
            # Left child of cell j of the level above, and right child of cell j - 1, if there is
            # such a level.
            is_left = (j < length - level - 1) & (level + 1 < n_levels)
            is_right = live & (j > 0) & (level + 1 < n_levels)

            # From the cells above.
            row = above + j
            product = tl.zeros((ROWS, SIZE), tl.float32)
            for chunk in range(0, 2 * SIZE, CHUNK):
                k = chunk + tl.arange(0, CHUNK)
                for p in tl.static_range(3):
                    parents = _pairs(
                        d_outputs + p * plane, row, is_left, is_right, k, -1, WIDTH, SIZE
                    )
                    weight = _weights(matrices, p, k, d, D, 1, D, SIZE, dtype)
                    product = tl.dot(parents, weight, product, input_precision=PRECISION)
            omega = _rows(gates, row, is_left, d, WIDTH)
            total = omega * _rows(d_units, d_above + j, is_left, d, WIDTH)
            omega = _rows(gates + plane, row - 1, is_right, d, WIDTH)
            total += omega * _rows(d_units, d_above + j - 1, is_right, d, WIDTH)

            # From the pooled level.
            at = (sentence * n_levels + level).to(tl.int64)[:, None] * D + d[None, :]
            mask = live[:, None] & (d < D)[None, :]
            pooled = tl.load(d_levels + at, mask=mask, other=0.0)
            row = here + j
            if MAX:
                unit = _rows(units, row, live, d, WIDTH)
                best = tl.load(levels + at, mask=mask, other=0.0)
                share = tl.load(shares + at, mask=mask, other=0.0)
                total += tl.where(unit == best, pooled * share, 0.0)
            else:
                total += pooled / tl.maximum(length - level, 1).to(tl.float32)[:, None]
            total += product

            if level == 0:
                at = (sentence * n_words + j).to(tl.int64)[:, None] * D + d[None, :]
                tl.store(d_words + at, total, mask=mask)
            else:
                # Through the cell, for the level below.
                left = _rows(units, below + j, live, d, WIDTH)
                right = _rows(units, below + j + 1, live, d, WIDTH)
                composed, slope = _activate(_rows(kept, row, live, d, WIDTH), RELU)
                gate_left = _rows(gates, row, live, d, WIDTH)
                gate_right = _rows(gates + plane, row, live, d, WIDTH)
                gate_composed = 1.0 - gate_left - gate_right
                mean = gate_left * left + gate_right * right + gate_composed * composed
                mask = live[:, None] & column
                at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
                through = gate_composed * total * slope
                tl.store(d_outputs + at, through.to(dtype), mask=mask)
                through = gate_left * total * (left - mean)
                tl.store(d_outputs + plane + at, through.to(dtype), mask=mask)
                through = gate_right * total * (right - mean)
                tl.store(d_outputs + 2 * plane + at, through.to(dtype), mask=mask)
                at = (d_here + j).to(tl.int64)[:, None] * WIDTH + d[None, :]
                tl.store(d_units + at, total, mask=mask)


@triton.jit(do_not_specialize=["n_sentences", "capacity"])
def weight_kernel(
    starts, units, steps, d_outputs, partial, n_sentences, capacity,
    SPLITS: tl.constexpr, CELLS: tl.constexpr, TILE: tl.constexpr,
    D: tl.constexpr, WIDTH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Weight gradients of one model summed over one of SPLITS shares of its cells.

    A program makes one (TILE, TILE) block of z^T l or of z^T r, z being a plane of ``d_outputs``;
    the first block of a row also its biases. ``partial`` has a row for each model and split: three
    planes of two matrices each, and three of biases.
    """
    model = tl.program_id(0) // SPLITS
    split = tl.program_id(0) % SPLITS
    dtype: tl.constexpr = units.dtype.element_ty
    blocks: tl.constexpr = (D + TILE - 1) // TILE
    matrix = tl.program_id(1) // (blocks * blocks)
    plane = matrix // 2
    side = matrix % 2  # 0: left children, 1: right children
    m_block = tl.program_id(1) % (blocks * blocks) // blocks
    n_block = tl.program_id(1) % blocks
    m = m_block * TILE + tl.arange(0, TILE)  # feature of the cell
    n = n_block * TILE + tl.arange(0, TILE)  # feature of the child

    model_start = tl.load(starts + model * n_sentences)
    model_end = tl.load(starts + (model + 1) * n_sentences)
    share = tl.cdiv(tl.cdiv(model_end - model_start, SPLITS), CELLS) * CELLS
    begin = model_start + split * share
    end = tl.minimum(begin + share, model_end)
    d_outputs += plane.to(tl.int64) * capacity * WIDTH

    weight = tl.zeros((TILE, TILE), tl.float32)
    bias = tl.zeros((TILE,), tl.float32)
    for first in range(begin, end, CELLS):
        cell = first + tl.arange(0, CELLS)
        step = tl.load(steps + cell, mask=cell < end, other=0)
        live = step > 0  # words have no children
        z = _rows(d_outputs, cell, live, m, WIDTH).to(dtype)
        child = _rows(units, cell - step + side, live, n, WIDTH).to(dtype)
        weight = tl.dot(tl.trans(z), child, weight, input_precision=PRECISION)
        bias += tl.sum(z.to(tl.float32), axis=0)

    partial += tl.program_id(0).to(tl.int64) * (6 * D * D + 3 * D)
    inside = (m < D)[:, None] & (n < D)[None, :]
    tl.store(partial + matrix * D * D + m[:, None] * D + n[None, :], weight, mask=inside)
    if (side == 0) & (n_block == 0):
        tl.store(partial + 6 * D * D + plane * D + m, bias, mask=m < D)


@triton.jit
def sum_kernel(partial, total, n, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    """Sum the partial gradients of each model, in the order of the splits."""
    model = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.zeros((BLOCK,), tl.float32)
    for split in range(SPLITS):
        value += tl.load(partial + (model * SPLITS + split) * n + at, mask=inside, other=0.0)
    tl.store(total + model * n + at, value, mask=inside)
