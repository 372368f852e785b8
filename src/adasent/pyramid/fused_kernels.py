# mypy: ignore-errors
"""Triton kernels of the fused pyramid, on tensors of the device; they know no host and no autograd.

One program owns a group of sentences of one model and climbs their levels, a barrier between two
levels. A tile of ROWS rows holds ROWS / GROUP positions of each sentence, position by position, so
that pooling is a reshape and a sum. Nothing is added with atomics: every number has one writer and
one order of summation, so a run repeats bit for bit.

Units lie in a ragged buffer, sentence after sentence, level after level: unit j of level k (from 0)
of a sentence of T words is row ``start + k T - k (k - 1) / 2 + j``, and its left child lies
``T - k + 1`` rows before it. Rows are padded from D to WIDTH columns of zeros (aligned loads),
tiles to SIZE, a power of two. Gates and their gradients lie in three planes, a number a cell.

Left and right children are multiplied side by side, [l | r] times [W_L ; W_R]: of two products in a
row, Triton gives the first a layout in which half of the warps repeat the other half's work.
"""

import triton
import triton.language as tl

from adasent.pyramid import RELU_CAP

CAP = tl.constexpr(RELU_CAP)
#: Three gates, padded to the least rows a matrix product may have.
GATES = tl.constexpr(16)


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
    compose, k, n, ALONG_K: tl.constexpr, ALONG_N: tl.constexpr, D: tl.constexpr,
    SIZE: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Rows k of the weights of left children above those of right children, (2 SIZE, SIZE)."""
    d = k % SIZE
    at = (tl.where(k >= SIZE, D * D, 0) + d * ALONG_K)[:, None] + n[None, :] * ALONG_N
    return tl.load(compose + at, mask=(d < D)[:, None] & (n < D)[None, :], other=0.0).to(dtype)


@triton.jit
def _gate_row(gate, index: tl.constexpr, d, D: tl.constexpr):
    """One row of the gate weights of a model, (1, SIZE): G_L has rows 0 to 2, G_R 3 to 5."""
    return tl.load(gate + index * D + d, mask=d < D, other=0.0)[None, :]


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
    levels, shares, pooled, ties, level, sentence, length, n_words,
    D: tl.constexpr, SIZE: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr,
    MAX: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Reduce the pooled tile over positions and write one row a sentence."""
    d = tl.arange(0, SIZE)
    at = (sentence * n_words + level).to(tl.int64)[:, None] * D + d[None, :]
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


@triton.jit(do_not_specialize=["n_models", "n_sentences", "n_words"])
def forward_kernel(
    words, lengths, order, starts,
    compose, compose_bias, gate, gate_bias,
    levels, shares, units, kept, gates, gates_1, gates_2, steps,
    n_models, n_sentences, n_words,
    D: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, GROUP: tl.constexpr,
    ROWS: tl.constexpr, CHUNK: tl.constexpr, RESIDENT: tl.constexpr, PRECISION: tl.constexpr,
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

    compose += model * 2 * D * D
    gate += model * 6 * D
    gate_bias += model * 3
    bias = tl.load(compose_bias + model * D + d, mask=d < D, other=0.0)[None, :]
    left_0 = _gate_row(gate, 0, d, D)
    left_1 = _gate_row(gate, 1, d, D)
    left_2 = _gate_row(gate, 2, d, D)
    right_0 = _gate_row(gate, 3, d, D)
    right_1 = _gate_row(gate, 4, d, D)
    right_2 = _gate_row(gate, 5, d, D)
    bias_0 = tl.load(gate_bias)
    bias_1 = tl.load(gate_bias + 1)
    bias_2 = tl.load(gate_bias + 2)
    if RESIDENT:  # the product needs the transpose: element (k, n) is W[n, k]
        resident = _weights(compose, tl.arange(0, 2 * SIZE), d, 1, D, D, SIZE, dtype)

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
    _store_level(levels, shares, pooled, ties, 0, member, member_length, n_words,
                 D, SIZE, GROUP, ROWS, MAX, KEEP)  # fmt: skip

    for level in range(1, longest):
        tl.debug_barrier()  # the level below is written by all warps, and read by all
        below = _level_row(start, level - 1, length, n_words, KEEP)
        here = _level_row(start, level, length, n_words, KEEP)
        pooled = tl.full((ROWS, SIZE), nothing, tl.float32)
        ties = tl.zeros((ROWS, SIZE), tl.float32)
        for first in range(0, longest - level, ROWS // GROUP):
            j = first + slot // GROUP
            live = j < length - level
            row = below + j
            if RESIDENT:
                k = tl.arange(0, 2 * SIZE)
                children = _pairs(units, row, live, live, k, 1, WIDTH, SIZE)
                product = tl.dot(children, resident, input_precision=PRECISION)
            else:
                product = tl.zeros((ROWS, SIZE), tl.float32)
                for chunk in range(0, 2 * SIZE, CHUNK):
                    k = chunk + tl.arange(0, CHUNK)
                    children = _pairs(units, row, live, live, k, 1, WIDTH, SIZE)
                    weight = _weights(compose, k, d, 1, D, D, SIZE, dtype)
                    product = tl.dot(children, weight, product, input_precision=PRECISION)
            left = _rows(units, row, live, d, WIDTH)
            right = _rows(units, row + 1, live, d, WIDTH)
            score_0 = tl.sum(left * left_0 + right * right_0, axis=1) + bias_0
            score_1 = tl.sum(left * left_1 + right * right_1, axis=1) + bias_1
            score_2 = tl.sum(left * left_2 + right * right_2, axis=1) + bias_2
            top = tl.maximum(tl.maximum(score_0, score_1), score_2)
            gate_0 = tl.exp(score_0 - top)
            gate_1 = tl.exp(score_1 - top)
            gate_2 = tl.exp(score_2 - top)
            total = gate_0 + gate_1 + gate_2
            gate_0 = gate_0 / total
            gate_1 = gate_1 / total
            gate_2 = gate_2 / total

            product += bias
            keep = (product if RELU else _tanh(product)).to(dtype)
            composed, _slope = _activate(keep.to(tl.float32), RELU)
            unit = gate_0[:, None] * left + gate_1[:, None] * right + gate_2[:, None] * composed
            unit = unit.to(dtype)  # what is pooled is what is stored

            row = here + j
            at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
            tl.store(units + at, unit, mask=live[:, None] & column)
            if KEEP:
                tl.store(kept + at, keep, mask=live[:, None] & column)
                tl.store(gates + row, gate_0, mask=live)
                tl.store(gates_1 + row, gate_1, mask=live)
                tl.store(gates_2 + row, gate_2, mask=live)
                tl.store(steps + row, length - level + 1, mask=live)
            pooled, ties = _pool_tile(pooled, ties, unit.to(tl.float32), live, MAX)
        _store_level(levels, shares, pooled, ties, level, member, member_length, n_words,
                     D, SIZE, GROUP, ROWS, MAX, KEEP)  # fmt: skip


@triton.jit(do_not_specialize=["n_models", "n_sentences", "n_words"])
def backward_kernel(
    d_levels, lengths, order, starts, compose, gate,
    levels, shares, units, kept, gates, gates_1, gates_2, d_units,
    d_composed, d_scores, d_scores_1, d_scores_2, d_words, n_models, n_sentences, n_words,
    D: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, GROUP: tl.constexpr,
    ROWS: tl.constexpr, CHUNK: tl.constexpr, RESIDENT: tl.constexpr, PRECISION: tl.constexpr,
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

    compose += model * 2 * D * D
    gate += model * 6 * D
    left_0 = _gate_row(gate, 0, d, D)
    left_1 = _gate_row(gate, 1, d, D)
    left_2 = _gate_row(gate, 2, d, D)
    right_0 = _gate_row(gate, 3, d, D)
    right_1 = _gate_row(gate, 4, d, D)
    right_2 = _gate_row(gate, 5, d, D)
    if RESIDENT:
        resident = _weights(compose, tl.arange(0, 2 * SIZE), d, D, 1, D, SIZE, dtype)

    for climbed in range(0, longest):
        level = longest - 1 - climbed
        tl.debug_barrier()
        here = _level_row(start, level, length, n_words, True)
        above = here + (length - level)
        below = here - (length - level + 1)
        d_here = (sentence * 2 + level % 2) * n_words
        d_above = (sentence * 2 + (level + 1) % 2) * n_words
        for first in range(0, longest - level, ROWS // GROUP):
            j = first + slot // GROUP
            live = j < length - level
            is_left = j < length - level - 1  # left child of cell j of the level above
            is_right = live & (j > 0)  # right child of cell j - 1

            # From the cells above.
            row = above + j
            if RESIDENT:
                k = tl.arange(0, 2 * SIZE)
                parents = _pairs(d_composed, row, is_left, is_right, k, -1, WIDTH, SIZE)
                product = tl.dot(parents, resident, input_precision=PRECISION)
            else:
                product = tl.zeros((ROWS, SIZE), tl.float32)
                for chunk in range(0, 2 * SIZE, CHUNK):
                    k = chunk + tl.arange(0, CHUNK)
                    parents = _pairs(d_composed, row, is_left, is_right, k, -1, WIDTH, SIZE)
                    weight = _weights(compose, k, d, D, 1, D, SIZE, dtype)
                    product = tl.dot(parents, weight, product, input_precision=PRECISION)
            omega = tl.load(gates + row, mask=is_left, other=0.0)[:, None]
            total = omega * _rows(d_units, d_above + j, is_left, d, WIDTH)
            total += tl.load(d_scores + row, mask=is_left, other=0.0)[:, None] * left_0
            total += tl.load(d_scores_1 + row, mask=is_left, other=0.0)[:, None] * left_1
            total += tl.load(d_scores_2 + row, mask=is_left, other=0.0)[:, None] * left_2
            row -= 1
            omega = tl.load(gates_1 + row, mask=is_right, other=0.0)[:, None]
            total += omega * _rows(d_units, d_above + j - 1, is_right, d, WIDTH)
            total += tl.load(d_scores + row, mask=is_right, other=0.0)[:, None] * right_0
            total += tl.load(d_scores_1 + row, mask=is_right, other=0.0)[:, None] * right_1
            total += tl.load(d_scores_2 + row, mask=is_right, other=0.0)[:, None] * right_2

            # From the pooled level.
            at = (sentence * n_words + level).to(tl.int64)[:, None] * D + d[None, :]
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
                gate_0 = tl.load(gates + row, mask=live, other=0.0)
                gate_1 = tl.load(gates_1 + row, mask=live, other=0.0)
                gate_2 = tl.load(gates_2 + row, mask=live, other=0.0)
                d_gate_0 = tl.sum(total * left, axis=1)
                d_gate_1 = tl.sum(total * right, axis=1)
                d_gate_2 = tl.sum(total * composed, axis=1)
                mean = gate_0 * d_gate_0 + gate_1 * d_gate_1 + gate_2 * d_gate_2
                tl.store(d_scores + row, gate_0 * (d_gate_0 - mean), mask=live)
                tl.store(d_scores_1 + row, gate_1 * (d_gate_1 - mean), mask=live)
                tl.store(d_scores_2 + row, gate_2 * (d_gate_2 - mean), mask=live)
                through = gate_2[:, None] * total * slope
                mask = live[:, None] & column
                at = row.to(tl.int64)[:, None] * WIDTH + d[None, :]
                tl.store(d_composed + at, through.to(dtype), mask=mask)
                at = (d_here + j).to(tl.int64)[:, None] * WIDTH + d[None, :]
                tl.store(d_units + at, total, mask=mask)


@triton.jit(do_not_specialize=["n_sentences", "capacity"])
def weight_kernel(
    starts, units, steps, d_composed, d_scores, partial, n_sentences, capacity,
    SPLITS: tl.constexpr, CELLS: tl.constexpr, TILE: tl.constexpr,
    D: tl.constexpr, WIDTH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Weight gradients of one model summed over one of SPLITS shares of its cells.

    A program makes one (TILE, TILE) block of z^T l or of z^T r; the first block of a column also
    s^T l or s^T r, the first of all also the two biases. ``partial`` has a row for each model and
    split: W_L, W_R, b_W, G_L, G_R, b_G one after the other.
    """
    model = tl.program_id(0) // SPLITS
    split = tl.program_id(0) % SPLITS
    dtype: tl.constexpr = units.dtype.element_ty
    blocks: tl.constexpr = (D + TILE - 1) // TILE
    side = tl.program_id(1) // (blocks * blocks)  # 0: left children, 1: right children
    m_block = tl.program_id(1) % (blocks * blocks) // blocks
    n_block = tl.program_id(1) % blocks
    m = m_block * TILE + tl.arange(0, TILE)  # feature of the cell
    n = n_block * TILE + tl.arange(0, TILE)  # feature of the child
    gate = tl.arange(0, GATES)

    model_start = tl.load(starts + model * n_sentences)
    model_end = tl.load(starts + (model + 1) * n_sentences)
    share = tl.cdiv(tl.cdiv(model_end - model_start, SPLITS), CELLS) * CELLS
    begin = model_start + split * share
    end = tl.minimum(begin + share, model_end)

    weight = tl.zeros((TILE, TILE), tl.float32)
    gate_weight = tl.zeros((GATES, TILE), tl.float32)
    bias = tl.zeros((TILE,), tl.float32)
    gate_bias = tl.zeros((GATES,), tl.float32)
    for first in range(begin, end, CELLS):
        cell = first + tl.arange(0, CELLS)
        step = tl.load(steps + cell, mask=cell < end, other=0)
        live = step > 0  # words have no children
        z = _rows(d_composed, cell, live, m, WIDTH).to(dtype)
        child = _rows(units, cell - step + side, live, n, WIDTH).to(dtype)
        weight = tl.dot(tl.trans(z), child, weight, input_precision=PRECISION)
        if m_block == 0:
            s = tl.load(
                d_scores + gate.to(tl.int64)[:, None] * capacity + cell[None, :],
                mask=(gate < 3)[:, None] & live[None, :],
                other=0.0,
            )
            gate_weight = tl.dot(s.to(dtype), child, gate_weight, input_precision=PRECISION)
            gate_bias += tl.sum(s, axis=1)
        bias += tl.sum(z.to(tl.float32), axis=0)

    partial += tl.program_id(0).to(tl.int64) * (2 * D * D + 7 * D + 3)
    inside = (m < D)[:, None] & (n < D)[None, :]
    tl.store(partial + side * D * D + m[:, None] * D + n[None, :], weight, mask=inside)
    partial += 2 * D * D
    if (side == 0) & (n_block == 0):
        tl.store(partial + m, bias, mask=m < D)
    if m_block == 0:
        at = (1 + 3 * side) * D + gate[:, None] * D + n[None, :]
        tl.store(partial + at, gate_weight, mask=(gate < 3)[:, None] & (n < D)[None, :])
        if (side == 0) & (n_block == 0):
            tl.store(partial + 7 * D + gate, gate_bias, mask=gate < 3)


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
