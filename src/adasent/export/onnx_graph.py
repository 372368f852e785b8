"""AdaSent in ONNX: a network in, a model from word ids to all that it says of a batch out.

The twin of :mod:`adasent.runtime` for other runtimes; see ``docs/export.md``. Levels are the rounds
of a Loop, so that texts may be of any length; ``benchmarks/onnx_rate.py`` brings another climb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adasent.export.onnx_block import Block, Value
from adasent.export.onnx_climb import KEEP_GATES, LOWEST, Sizes, climb_by_loop, gates_by_text, pool
from adasent.runtime.head import NORM_EPS, LevelHead
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.text.vocabulary import PAD_ID


def network_model(
    network: Network,
    table: WordTable,
    climb: Callable[..., tuple[str, str]] = climb_by_loop,
    **about: Any,
) -> Any:
    """A ``ModelProto`` with the inputs ids (B, T), lengths (B,) and whether gates are kept.

    Parameters
    ----------
    climb
        How the levels above the first are built; of the signature of the default.
    about
        Who made it, as ``onnx.helper.make_model`` takes it.
    """
    block, config = Block(), network.config
    sizes = _sizes(block, config.max_height)
    lengths = _lengths(block, sizes)
    mask = _mask(block, lengths, sizes)
    words = _first_level(block, table, network.projection, sizes)
    first = pool(block, words, mask, network.composition.maximum)
    rest, shares = climb(block, words, mask, network.composition, sizes)
    pooled = block.op("Concat", block.op("Unsqueeze", first, block.ints(0)), rest, axis=0)
    there, counts = _levels_there(block, lengths, sizes)
    levels = _levels(block, pooled, there, counts, sizes, network.composition.maximum)
    outputs = _head(block, levels, there, network.head)
    gates_by_text(block, shares, sizes, network.composition.n_groups)
    outputs["gates"] = ("batch", "above", "neighbours", 3, network.composition.n_groups)
    inputs: list[Value] = [("ids", np.int64, ("batch", "words")), ("lengths", np.int64, ("batch",))]
    graph = block.graph(
        "adasent",
        [*inputs, (KEEP_GATES, np.bool_, ())],
        [(name, np.float32, axes) for name, axes in outputs.items()],
    )
    return block.model(graph, **about)


# -- words ---------------------------------------------------------------------------------------


def _sizes(block: Block, height: int | None) -> Sizes:
    shape = block.op("Shape", "ids")
    words = block.cut(shape, 0, 1)
    levels = words if height is None else block.op("Min", words, block.ints(height))
    positions = block.op("Max", words, block.ints(2))
    return Sizes(block.cut(shape, 0, 0, 1), words, positions, levels)


def _lengths(block: Block, sizes: Sizes) -> str:
    """(B,) lengths from 1 to T."""
    return block.op("Min", block.op("Max", "lengths", block.ints(1)), sizes.words)


def _count_to(block: Block, n: str) -> str:
    """Whole numbers from 0 to n - 1, n being (1,)."""
    end = block.op("Squeeze", n)
    return block.op("Range", block.constant(np.int64(0)), end, block.constant(np.int64(1)))


def _mask(block: Block, lengths: str, sizes: Sizes) -> str:
    """(positions, B) whether a text has such a word."""
    positions = block.op("Unsqueeze", _count_to(block, sizes.positions), block.ints(1))
    return block.op("Less", positions, block.op("Unsqueeze", lengths, block.ints(0)))


def _first_level(block: Block, table: WordTable, projection: np.ndarray, sizes: Sizes) -> str:
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


# -- levels --------------------------------------------------------------------------------------


def _levels_there(block: Block, lengths: str, sizes: Sizes) -> tuple[str, str]:
    """(B, L) whether a text has such a level, and of how many units it is, at least 1."""
    below = block.op("Unsqueeze", _count_to(block, sizes.levels), block.ints(0))
    units = block.op("Sub", block.op("Unsqueeze", lengths, block.ints(1)), below)
    there = block.op("Greater", units, block.ints(0))
    return there, block.op("Max", units, block.ints(1))


def _levels(block: Block, pooled: str, there: str, counts: str, sizes: Sizes, maximum: bool) -> str:
    """(L, D, B) sums or maxima -> (B, L, D) pooled levels, 0 where a text has none."""
    turned = block.op("Transpose", block.cut(pooled, 0, 0, sizes.levels), perm=[2, 0, 1])
    last = block.ints(2)
    levels = block.op("Where", block.op("Unsqueeze", there, last), turned, block.number(0))
    if maximum:
        return levels
    n_units = block.op("Unsqueeze", block.op("Cast", counts, to=1), last)
    return block.op("Div", levels, n_units)


def _head(block: Block, levels: str, there: str, head: LevelHead) -> dict[str, Sequence[str | int]]:
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
    beliefs = block.op("Where", there, scores, block.number(LOWEST))
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
