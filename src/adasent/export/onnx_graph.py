"""AdaSent in ONNX: a network in, a model from word ids to all that it says of a batch out.

The twin of :mod:`adasent.runtime` for other runtimes. Inside of the pyramid a level is a matrix of
D rows and a column for each unit, position after position and within it text after text: a gate
then multiplies long rows, and neighbours are two slices. Levels are the rounds of a Loop, so that
texts may be of any length. What lies beyond the end of a text is computed and left out where levels
are pooled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adasent.export.onnx_block import Block
from adasent.pyramid import RELU_CAP
from adasent.runtime.climb import MAX_SCORE, Composition
from adasent.runtime.head import NORM_EPS, LevelHead
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.text.vocabulary import PAD_ID

_LOWEST = float(np.finfo(np.float32).min)


class _Sizes(NamedTuple):
    """Whole numbers that depend on the batch, as (1,) values."""

    batch: str
    words: str  # T
    positions: str  # of the first level: T, at least 2, so that the loop has a round
    levels: str  # L


def network_model(network: Network, table: WordTable, *, gates: bool, **about: Any) -> Any:
    """A ``ModelProto`` with the inputs ids (B, T) and lengths (B,).

    Parameters
    ----------
    gates
        Whether the gates of units are among the outputs.
    about
        Who made it, as ``onnx.helper.make_model`` takes it.
    """
    block, config = Block(), network.config
    sizes = _sizes(block, config.max_height)
    lengths = _lengths(block, sizes)
    mask = _mask(block, lengths, sizes)
    words = _first_level(block, table, network.projection, sizes)
    first = _pool(block, words, mask, network.composition.maximum)
    rest, unit_gates = _climb(block, words, mask, network.composition, sizes, gates=gates)
    pooled = block.op("Concat", block.op("Unsqueeze", first, block.ints(0)), rest, axis=0)
    there, counts = _levels_there(block, lengths, sizes)
    levels = _levels(block, pooled, there, counts, sizes, network.composition.maximum)
    outputs = _head(block, levels, there, network.head)
    if gates:
        _gates(block, unit_gates, sizes, network.composition.n_groups)
        outputs["gates"] = ("batch", "above", "neighbours", 3, network.composition.n_groups)
    graph = block.graph(
        "adasent",
        [("ids", np.int64, ("batch", "words")), ("lengths", np.int64, ("batch",))],
        [(name, np.float32, shape) for name, shape in outputs.items()],
    )
    return block.model(graph, **about)


# -- words ---------------------------------------------------------------------------------------


def _sizes(block: Block, height: int | None) -> _Sizes:
    shape = block.op("Shape", "ids")
    words = block.cut(shape, 0, 1)
    levels = words if height is None else block.op("Min", words, block.ints(height))
    positions = block.op("Max", words, block.ints(2))
    return _Sizes(block.cut(shape, 0, 0, 1), words, positions, levels)


def _lengths(block: Block, sizes: _Sizes) -> str:
    """(B,) lengths from 1 to T."""
    return block.op("Min", block.op("Max", "lengths", block.ints(1)), sizes.words)


def _count_to(block: Block, n: str) -> str:
    """Whole numbers from 0 to n - 1, n being (1,)."""
    end = block.op("Squeeze", n)
    return block.op("Range", block.constant(np.int64(0)), end, block.constant(np.int64(1)))


def _mask(block: Block, lengths: str, sizes: _Sizes) -> str:
    """(positions, B) whether a text has such a word."""
    positions = block.op("Unsqueeze", _count_to(block, sizes.positions), block.ints(1))
    return block.op("Less", positions, block.op("Unsqueeze", lengths, block.ints(0)))


def _first_level(block: Block, table: WordTable, projection: np.ndarray, sizes: _Sizes) -> str:
    """(D, positions, B) units h^1 = U' U x."""
    missing = block.op("Sub", sizes.positions, sizes.words)
    pads = block.op("Concat", block.ints(0, 0, 0), missing, axis=0)
    padded = block.op("Pad", "ids", pads, block.constant(np.int64(PAD_ID)))
    ids = block.op("Flatten", block.op("Transpose", padded, perm=[1, 0]), axis=0)
    vectors = _vectors(block, table, block.op("Squeeze", ids, block.ints(0)))
    weight = block.constant(projection, "projection")
    units = block.op("Gemm", weight, vectors, transB=1)
    shape = block.op("Concat", block.ints(len(projection)), sizes.positions, sizes.batch, axis=0)
    return block.op("Reshape", units, shape)


def _vectors(block: Block, table: WordTable, ids: str) -> str:
    """(n, d) rows of the word table, which stays as small as it is stored."""

    def rows(array: np.ndarray, name: str, which: str) -> str:
        found = block.op("Gather", block.constant(array, name), which)
        return found if array.dtype == np.float32 else block.op("Cast", found, to=1)

    if not len(table.fixed):
        return rows(table.trained, "words_trained", ids)
    start, zero = block.ints(len(table.trained)), block.ints(0)
    is_trained = block.op("Less", ids, start)
    beyond = block.op("Where", is_trained, zero, block.op("Sub", ids, start))
    scale = block.op("Gather", block.constant(table.scale, "words_scale"), beyond)
    fixed = rows(table.fixed, "words_fixed", beyond)
    fixed = block.op("Mul", fixed, block.op("Unsqueeze", scale, block.ints(1)))
    trained = rows(table.trained, "words_trained", block.op("Where", is_trained, ids, zero))
    return block.op("Where", block.op("Unsqueeze", is_trained, block.ints(1)), trained, fixed)


# -- pyramid -------------------------------------------------------------------------------------


def _pool(block: Block, units: str, mask: str, maximum: bool) -> str:
    """(D, n, B) units of a level -> (D, B) their maximum or sum."""
    real = block.op("Where", mask, units, block.number(_LOWEST if maximum else 0))
    if maximum:
        return block.op("ReduceMax", real, axes=[1], keepdims=0)
    return block.op("ReduceSum", real, block.ints(1), keepdims=0)


def _climb(
    block: Block, words: str, mask: str, composition: Composition, sizes: _Sizes, *, gates: bool
) -> tuple[str, str]:
    """(levels - 1, D, B) pooled levels from the second on; (levels - 1, 3 N, neighbours, B)."""
    body = Block(block)
    going_on = body.op("Identity", "going_on")
    above, shares = _level(body, "units", composition)
    above_mask = body.cut("mask", 0, 1)
    pooled = _pool(body, above, above_mask, composition.maximum)
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


def _level(body: Block, below: str, composition: Composition) -> tuple[str, str]:
    """(D, n, B) units -> (D, n - 1, B) those above, and (3 N, n - 1, B) their gates."""
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
    shape = body.op("Shape", left)
    shares = body.op("Concat", of_left, of_right, of_composed, axis=0)
    gate_shape = body.op("Concat", body.ints(3 * n_groups), body.cut(shape, 0, 1), axis=0)
    return body.op("Reshape", mixed, shape), body.op("Reshape", shares, gate_shape)


def _padded(body: Block, shares: str, mask: str, sizes: _Sizes) -> str:
    """(3 N, n, B) gates of a level with 0 where no unit is, for as many positions as words - 1."""
    real = body.op("Where", mask, shares, body.number(0))
    n_units = body.cut(body.op("Shape", shares), 0, 1, 2)
    widest = body.op("Sub", sizes.positions, body.ints(1))
    missing = body.op("Sub", widest, n_units)
    pads = body.op("Concat", body.ints(0, 0, 0, 0), missing, body.ints(0), axis=0)
    return body.op("Pad", real, pads)


def _gates(block: Block, shares: str, sizes: _Sizes, n_groups: int) -> None:
    """(B, levels - 1, T - 1, 3, N), as traces have them."""
    head, tail = block.ints(-1, 3, n_groups), block.op("Sub", sizes.positions, block.ints(1))
    split = block.op("Reshape", shares, block.op("Concat", head, tail, sizes.batch, axis=0))
    turned = block.op("Transpose", split, perm=[4, 0, 3, 1, 2])
    above = block.op("Sub", sizes.levels, block.ints(1))
    kept = block.cut(turned, 1, 0, above)
    width = block.op("Sub", sizes.words, block.ints(1))
    block.op("Identity", block.cut(kept, 2, 0, width), out="gates")


# -- levels --------------------------------------------------------------------------------------


def _levels_there(block: Block, lengths: str, sizes: _Sizes) -> tuple[str, str]:
    """(B, L) whether a text has such a level, and of how many units it is, at least 1."""
    below = block.op("Unsqueeze", _count_to(block, sizes.levels), block.ints(0))
    units = block.op("Sub", block.op("Unsqueeze", lengths, block.ints(1)), below)
    there = block.op("Greater", units, block.ints(0))
    return there, block.op("Max", units, block.ints(1))


def _levels(
    block: Block, pooled: str, there: str, counts: str, sizes: _Sizes, maximum: bool
) -> str:
    """(L, D, B) sums or maxima -> (B, L, D) pooled levels, 0 where a text has none."""
    turned = block.op("Transpose", block.cut(pooled, 0, 0, sizes.levels), perm=[2, 0, 1])
    last = block.ints(2)
    levels = block.op("Where", block.op("Unsqueeze", there, last), turned, block.number(0))
    if maximum:
        return levels
    n_units = block.op("Unsqueeze", block.op("Cast", counts, to=1), last)
    return block.op("Div", levels, n_units)


def _head(
    block: Block, levels: str, there: str, head: LevelHead
) -> dict[str, tuple[str | int | None, ...]]:
    """(B, L, D) levels -> the outputs that they lead to, by name, and their shapes."""
    last = block.ints(2)

    def linear(name: str, values: str) -> str:
        weight, bias = head.tensors[f"{name}.weight"], head.tensors[f"{name}.bias"]
        product = block.op("MatMul", values, block.constant(weight.T, f"{name}.weight"))
        return block.op("Add", product, block.constant(bias, f"{name}.bias"))

    if "level_norm.weight" in head.tensors:
        levels = _norm(block, levels, head)
    if "level_gate.score.weight" in head.tensors:
        scores = linear("level_gate.score", levels)
    else:
        hidden = block.op("Tanh", linear("level_gate.score.0", levels))
        scores = linear("level_gate.score.2", hidden)
    scores = block.op("Squeeze", scores, last)
    beliefs = block.op("Where", there, scores, block.number(_LOWEST))
    beliefs = block.op("Softmax", beliefs, axis=1, out="beliefs")

    features = levels
    if "classifier.hidden.weight" in head.tensors:
        features = block.op("Relu", linear("classifier.hidden", levels))
    votes = linear("classifier.out", features)
    if head.multilabel:
        # What overflowed must not look certain: its difference from itself is not a number.
        doubt = block.op("Sub", votes, votes)
        votes = block.op("Add", block.op("Sigmoid", votes), doubt)
    else:
        votes = block.op("Softmax", votes, axis=2)
    is_there = block.op("Unsqueeze", there, last)
    votes = block.op("Where", is_there, votes, block.number(0), out="votes")

    weighted = block.op("Mul", votes, block.op("Unsqueeze", beliefs, last))
    mixed = block.op("ReduceSum", weighted, block.ints(1), keepdims=0)
    if head.multilabel:  # nothing is beyond 1, and what is not a number stays so
        room = block.op("Sub", block.number(1), mixed)
        beyond = block.op("Min", room, block.number(0))
        block.op("Add", mixed, beyond, out="probabilities")
    else:
        total = block.op("ReduceSum", mixed, block.ints(1), keepdims=1)
        block.op("Div", mixed, total, out="probabilities")
    n_classes = len(head.tensors["classifier.out.bias"])
    return {
        "probabilities": ("batch", n_classes),
        "beliefs": ("batch", "levels"),
        "votes": ("batch", "levels", n_classes),
    }


def _norm(block: Block, levels: str, head: LevelHead) -> str:
    """Rows of mean 0 and variance 1, times the gain, plus the offset.

    Not the operator LayerNormalization: runtimes take its variance as a difference of large
    numbers, and lose digits.
    """
    mean = block.op("ReduceMean", levels, axes=[2], keepdims=1)
    centred = block.op("Sub", levels, mean)
    variance = block.op("ReduceMean", block.op("Mul", centred, centred), axes=[2], keepdims=1)
    root = block.op("Sqrt", block.op("Add", variance, block.number(float(NORM_EPS))))
    gain = block.constant(head.tensors["level_norm.weight"], "level_norm.weight")
    offset = block.constant(head.tensors["level_norm.bias"], "level_norm.bias")
    scaled = block.op("Mul", block.op("Div", centred, root), gain)
    return block.op("Add", scaled, offset)
