"""The pyramid of a batch in ONNX: units of the first level in, pooled levels and gates out.

The twin of :mod:`adasent.runtime.climb`. A level is a matrix of D rows and a column for each unit,
position after position and within it text after text: a gate then multiplies long rows, and left
and right children are two slices. What lies beyond the end of a text is computed too, and left out
where levels are pooled: it is never below a unit that is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adasent.export.onnx_block import Block
from adasent.pyramid import RELU_CAP
from adasent.runtime.climb import MAX_SCORE, Composition

#: Stands for minus infinity, which times 0 is not a number.
LOWEST = float(np.finfo(np.float32).min)


class Sizes(NamedTuple):
    """Whole numbers that depend on the batch, as (1,) values."""

    batch: str
    words: str  # T
    positions: str  # of the first level: T, at least 2, so that the loop has a round
    levels: str  # L


def pool(block: Block, units: str, mask: str, maximum: bool) -> str:
    """(D, n, B) units of a level -> (D, B) their maximum or sum."""
    real = block.op("Where", mask, units, block.number(LOWEST if maximum else 0))
    if maximum:
        return block.op("ReduceMax", real, axes=[1], keepdims=0)
    return block.op("ReduceSum", real, block.ints(1), keepdims=0)


def climb_by_loop(
    block: Block, words: str, mask: str, composition: Composition, sizes: Sizes, *, gates: bool
) -> tuple[str, str]:
    """(levels - 1, D, B) pooled levels from the second on; (levels - 1, 3 N, neighbours, B)."""
    body = Block(block)
    going_on = body.op("Identity", "going_on")
    above, shares = level(body, "units", composition)
    above_mask = body.cut("mask", 0, 1)
    pooled = pool(body, above, above_mask, composition.maximum)
    outputs: list[tuple[str, type, tuple[str | int | None, ...]]] = [
        (going_on, np.bool_, ()),
        (above, np.float32, (None, None, None)),
        (above_mask, np.bool_, (None, None)),
        (pooled, np.float32, (None, None)),
    ]
    if gates:
        kept = _padded(body, shares, above_mask, sizes)
        outputs.append((kept, np.float32, (None, None, None)))
    graph = body.graph(
        "level",
        [
            ("round", np.int64, ()),
            ("going_on", np.bool_, ()),
            ("units", np.float32, (None, None, None)),
            ("mask", np.bool_, (None, None)),
        ],
        outputs,
    )
    rounds = block.op("Sub", block.op("Max", sizes.levels, block.ints(2)), block.ints(1))
    always = block.constant(np.bool_(True))
    found = block.ops("Loop", rounds, always, words, mask, n=len(outputs) - 1, body=graph)
    return found[2], found[-1]


def level(body: Block, below: str, composition: Composition) -> tuple[str, tuple[str, str, str]]:
    """(D, n, B) units -> (D, n - 1, B) those above, and their gates: left, right, composed.

    Each of the gates is (N, (n - 1) B).
    """
    matrix, n_groups = composition.matrix, composition.n_groups
    size, width = len(matrix), len(composition.gate_bias)
    bounds = np.cumsum([size, size, width])
    compose_left, compose_right, gate_left, gate_right = np.split(matrix.T, bounds)
    left, right = body.cut(below, 1, 0, -1), body.cut(below, 1, 1)
    both = body.op("Flatten", body.op("Concat", left, right, axis=0), axis=1)

    def linear(name: str, weight: np.ndarray, bias: np.ndarray, values: str) -> str:
        weights = body.constant(weight, name), body.constant(bias[:, None], f"{name}_bias")
        return body.op("Gemm", weights[0], values, weights[1])

    compose = np.concatenate([compose_left, compose_right], axis=1)
    composed = linear("compose", compose, composition.compose_bias, both)
    if composition.relu:
        composed = body.op("Clip", composed, body.number(0), body.number(RELU_CAP))
    else:
        composed = body.op("Tanh", composed)
    scores = linear(
        "gate", np.concatenate([gate_left, gate_right], axis=1), composition.gate_bias, both
    )
    if composition.gate_out is not None and composition.gate_out_bias is not None:
        hidden = body.op("Tanh", scores)
        scores = linear("gate_out", composition.gate_out, composition.gate_out_bias, hidden)
    powers = body.op("Exp", body.op("Min", scores, body.number(MAX_SCORE)))
    of_left, of_right = body.ops("Split", powers, n=2, axis=0)
    total = body.op("Add", body.op("Add", of_left, of_right), body.number(1))
    of_composed = body.op("Reciprocal", total)
    of_left, of_right = (body.op("Mul", one, of_composed) for one in (of_left, of_right))
    # Dimension d is of group d mod N, so groups follow each other within a row of this shape.
    by_group = body.ints(size // n_groups, n_groups, -1)
    parts = [
        body.op("Mul", body.op("Reshape", units, by_group), share)
        for units, share in ((left, of_left), (right, of_right), (composed, of_composed))
    ]
    mixed = body.op("Add", body.op("Add", parts[0], parts[1]), parts[2])
    units = body.op("Reshape", mixed, body.op("Shape", left))
    return units, (of_left, of_right, of_composed)


def _padded(body: Block, shares: Sequence[str], mask: str, sizes: Sizes) -> str:
    """(3 N, neighbours, B) gates of a level, 0 where no unit is; T - 1 words have a neighbour."""
    shape = body.op("Shape", mask)
    together = body.op("Concat", *shares, axis=0)
    by_unit = body.op("Reshape", together, body.op("Concat", body.ints(-1), shape, axis=0))
    real = body.op("Where", mask, by_unit, body.number(0))
    widest = body.op("Sub", sizes.positions, body.ints(1))
    missing = body.op("Sub", widest, body.cut(shape, 0, 0, 1))
    pads = body.op("Concat", body.ints(0, 0, 0, 0), missing, body.ints(0), axis=0)
    return body.op("Pad", real, pads)


def gates_by_text(block: Block, shares: str, sizes: Sizes, n_groups: int) -> None:
    """(B, levels - 1, T - 1, 3, N), as traces have them."""
    head, tail = block.ints(-1, 3, n_groups), block.op("Sub", sizes.positions, block.ints(1))
    split = block.op("Reshape", shares, block.op("Concat", head, tail, sizes.batch, axis=0))
    turned = block.op("Transpose", split, perm=[4, 0, 3, 1, 2])
    above = block.op("Sub", sizes.levels, block.ints(1))
    kept = block.cut(turned, 1, 0, above)
    width = block.op("Sub", sizes.words, block.ints(1))
    block.op("Identity", block.cut(kept, 2, 0, width), out="gates")
