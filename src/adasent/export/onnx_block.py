"""Operators in, nodes of an ONNX graph out: writes graphs as one writes expressions.

Knows ONNX and nothing of networks. A value is the name that nodes have for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adasent.errors import require

#: Read by every ONNX Runtime since 1.12, of 2022.
OPSET, IR_VERSION = 17, 8

#: An input or output of a graph: its name, its kind, and its axes or how many there are.
Value = tuple[str, type, Sequence[str | int] | int]


class Block:
    """Nodes that follow each other: a graph, or the body of a loop in one.

    Parameters
    ----------
    outer
        What the block is a part of. It sees the outer values, and its constants are kept there.
    """

    def __init__(self, outer: Block | None = None) -> None:
        self._helper = require("onnx.helper", "onnx", "exporting to ONNX")
        self._to_tensor = require("onnx.numpy_helper", "onnx", "exporting to ONNX").from_array
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {} if outer is None else outer._constants
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = (
            {} if outer is None else outer._known
        )
        self._names: list[str] = [] if outer is None else outer._names  # no two alike

    def constant(self, value: Any, name: str | None = None) -> str:
        """An array of the graph; small ones that are equal are one."""
        array = np.asarray(value)
        if name is None:
            key = (array.dtype.str, array.shape, array.tobytes())
            name = self._known.setdefault(key, f"constant_{len(self._known)}")
        self._constants[name] = array
        return name

    def ints(self, *values: int) -> str:
        """A list of whole numbers, as shapes and axes are given."""
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        """A number."""
        return self.constant(np.float32(value))

    def op(self, kind: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        """The output of an operator; ``out`` names it."""
        return self.ops(kind, *inputs, outs=[out or self._new(kind)], **attributes)[0]

    def ops(
        self, kind: str, *inputs: str, n: int = 1, outs: Sequence[str] = (), **attributes: Any
    ) -> list[str]:
        """The n outputs of an operator."""
        names = list(outs) or [self._new(kind) for _ in range(n)]
        self._nodes.append(self._helper.make_node(kind, inputs, names, **attributes))
        return names

    def cut(self, value: str, axis: int, first: int | str = 0, end: int | str | None = None) -> str:
        """A slice of an axis, as ``value[first:end]``; where it is computed, (1,) whole numbers."""
        last = np.iinfo(np.int64).max if end is None else end
        bounds = [one if isinstance(one, str) else self.ints(one) for one in (first, last)]
        return self.op("Slice", value, *bounds, self.ints(axis))

    def graph(self, name: str, inputs: Sequence[Value], outputs: Sequence[Value]) -> Any:
        """The block as a graph."""
        sides = [
            [self._helper.make_tensor_value_info(one, self._kind(kind), _shape(axes))
             for one, kind, axes in side]
            for side in (inputs, outputs)
        ]  # fmt: skip
        return self._helper.make_graph(self._nodes, name, *sides)

    def model(self, graph: Any, **about: Any) -> Any:
        """A graph with all constants, as a model."""
        graph.initializer.extend(
            self._to_tensor(array, name) for name, array in self._constants.items()
        )
        opset = self._helper.make_opsetid("", OPSET)
        return self._helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, **about)

    def _kind(self, kind: type) -> int:
        found: int = self._helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return found

    def _new(self, kind: str) -> str:
        self._names.append(f"{kind.lower()}_{len(self._names)}")
        return self._names[-1]


def _shape(axes: Sequence[str | int] | int) -> list[str | int | None]:
    return [None] * axes if isinstance(axes, int) else list(axes)
