"""Nodes are collected under names of their own, and equal constants once."""

from __future__ import annotations

import numpy as np
import onnxruntime

from adasent.export.onnx_block import Block


def run(block: Block, shape: tuple[str | int, ...], value: np.ndarray) -> np.ndarray:
    """The output y of the block for an x."""
    graph = block.graph("made", [("x", np.float32, 1)], [("y", np.float32, shape)])
    data = block.model(graph, producer_name="tests").SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    found: np.ndarray = session.run(["y"], {"x": value})[0]
    return found


def test_slices_are_pythons() -> None:
    x = np.arange(5, dtype=np.float32)
    for first, end in ((0, None), (1, None), (0, -1), (2, 4), (0, 9)):
        block = Block()
        block.op("Identity", block.cut("x", 0, first, end), out="y")
        np.testing.assert_array_equal(run(block, ("n",), x), x[first:end])


def test_equal_constants_are_one() -> None:
    block = Block()
    body = Block(block)
    assert body.ints(1, 2) == block.ints(1, 2)
    others = {block.ints(2, 1), block.ints(1), block.number(1), block.constant(np.int64(1))}
    assert len(others) == 4
    assert block.constant(np.ones(2), "named") == "named"
    graph = block.graph("made", [], [])
    names = {one.name for one in block.model(graph).graph.initializer}
    assert names == {block.ints(1, 2), *others, "named"}


def test_a_block_within_has_names_of_its_own() -> None:
    block = Block()
    body = Block(block)
    outer = block.op("Neg", "x")
    assert len({outer, body.op("Neg", "x"), block.op("Neg", "x")}) == 3
