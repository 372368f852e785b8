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

#: The input that says whether the gates of units are among the outputs.
KEEP_GATES = "keep_gates"


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
    block: Block, words: str, mask: str, composition: Composition, sizes: Sizes
) -> tuple[str, str]:
    """(levels - 1, D, B) pooled levels from the second on, and their gates as they are kept.

    The gates are (levels - 1, 3 N, neighbours, B) where they are, else without neighbours.
    """
    body = Block(block)
    going_on = body.op("Identity", "going_on")
    above, shares = level(body, "units", composition)
    above_mask = body.cut("mask", 0, 1)
    outputs = [
        (going_on, np.bool_, 0),
        (above, np.float32, 3),
        (above_mask, np.bool_, 2),
        (pool(body, above, above_mask, composition.maximum), np.float32, 2),
        (kept_gates(body, shares, above_mask, sizes), np.float32, 3),
    ]
    inputs = [("round", np.int64, 0), ("going_on", np.bool_, 0)]
    inputs += [("units", np.float32, 3), ("mask", np.bool_, 2)]
    graph = body.graph("level", inputs, outputs)
    rounds = block.op("Sub", block.op("Max", sizes.levels, block.ints(2)), block.ints(1))
    always = block.constant(np.bool_(True))
    found = block.ops("Loop", rounds, always, words, mask, n=len(outputs) - 1, body=graph)
    return found[2], found[3]


def level(body: Block, below: str, composition: Composition) -> tuple[str, tuple[str, str, str]]:
    """(D, n, B) units -> (D, n - 1, B) those above, and their gates: left, right, composed.

    Each of the gates is (N, (n - 1) B).
    """
    matrix, n_groups = composition.matrix, composition.n_groups
    size, width = len(matrix), len(composition.gate_bias)
    bounds = np.cumsum([size, size, width])
    compose_left, compose_right, gate_left, gate_right = np.split(matrix.T, bounds)
    left, right = body.cut(below, 1, 0, -1), body.cut(below, 1, 1)
    children = [body.op("Flatten", one, axis=1) for one in (left, right)]

    def of_children(name: str, weights: Sequence[np.ndarray], bias: np.ndarray) -> str:
        # One product after the other, rather than one of both: it is more exact.
        found = body.constant(bias[:, None], f"{name}_bias")
        for side, weight, units in zip(("left", "right"), weights, children, strict=True):
            found = body.op("Gemm", body.constant(weight, f"{name}_{side}"), units, found)
        return found

    composed = of_children("compose", (compose_left, compose_right), composition.compose_bias)
    if composition.relu:
        composed = body.op("Clip", composed, body.number(0), body.number(RELU_CAP))
    else:
        composed = body.op("Tanh", composed)
    scores = of_children("gate", (gate_left, gate_right), composition.gate_bias)
    if composition.gate_out is not None and composition.gate_out_bias is not None:
        weight = body.constant(composition.gate_out, "gate_out")
        bias = body.constant(composition.gate_out_bias[:, None], "gate_out_bias")
        scores = body.op("Gemm", weight, body.op("Tanh", scores), bias)
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


def kept_gates(body: Block, shares: Sequence[str], mask: str, sizes: Sizes) -> str:
    """(3 N, neighbours, B) gates of a level, if the caller wants them; else without neighbours.

    T - 1 words have a neighbour. There is 0 where no unit is.
    """
    wanted, unwanted = Block(body), Block(body)
    shape = wanted.op("Shape", mask)
    together = wanted.op("Concat", *shares, axis=0)
    by_unit = wanted.op("Reshape", together, wanted.op("Concat", wanted.ints(-1), shape, axis=0))
    real = wanted.op("Where", mask, by_unit, wanted.number(0))
    widest = wanted.op("Sub", sizes.positions, wanted.ints(1))
    missing = wanted.op("Sub", widest, wanted.cut(shape, 0, 0, 1))
    pads = wanted.op("Concat", wanted.ints(0, 0, 0, 0), missing, wanted.ints(0), axis=0)
    kept = wanted.op("Pad", real, pads)
    return body.op(
        "If",
        KEEP_GATES,
        then_branch=wanted.graph("wanted", [], [(kept, np.float32, 3)]),
        else_branch=unwanted.graph(
            "unwanted", [], [(_none(unwanted, shares, sizes), np.float32, 3)]
        ),
    )


def _none(block: Block, shares: Sequence[str], sizes: Sizes) -> str:
    """(3 N, 0, B)."""
    n_groups = block.cut(block.op("Shape", shares[0]), 0, 0, 1)
    rows = block.op("Mul", n_groups, block.ints(len(shares)))
    shape = block.op("Concat", rows, block.ints(0), sizes.batch, axis=0)
    return block.op("ConstantOfShape", shape)


def gates_by_text(block: Block, shares: str, sizes: Sizes, n_groups: int) -> None:
    """(B, levels - 1, neighbours, 3, N), as traces have them: the output gates."""
    shape = block.op("Shape", shares)
    ends = block.cut(shape, 0, 0, 1), block.cut(shape, 0, 2)
    split = block.op("Concat", ends[0], block.ints(3, n_groups), ends[1], axis=0)
    turned = block.op("Reshape", shares, split, allowzero=1)
    turned = block.op("Transpose", turned, perm=[4, 0, 3, 1, 2])
    above = block.op("Sub", sizes.levels, block.ints(1))
    width = block.op("Sub", sizes.words, block.ints(1))
    kept = block.cut(turned, 1, 0, above)
    block.op("Identity", block.cut(kept, 2, 0, width), out="gates")
