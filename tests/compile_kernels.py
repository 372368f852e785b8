"""Every Triton kernel compiled for a GPU that need not be there; prints a line of JSON for each.

Run in a process of its own, by ``tests/test_triton.py``. The library's own code launches the
kernels, on tensors of the CPU, so that they are compiled for just the arguments that it passes; a
launch compiles and does nothing more. With ``--all`` in all that settings can make of them.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from adasent.nn import dropout_triton, norm
from adasent.pyramid import cuda
from adasent.pyramid.weights import PyramidWeights
from adasent.training import dense_triton, optimizer
from adasent.training.optimizer import OPTIMIZERS, AdagradStep, AdamStep
from adasent.training.rows_triton import TritonRows

SIZE = 100  # D of the default settings
ALL = "--all" in sys.argv
#: Groups, precisions and activations: each beside each of the others, but 25 groups in double.
PYRAMIDS = [
    *((1, "highest", "tanh"), (25, "highest", "relu"), (SIZE, "highest", "tanh")),
    *((1, "medium", "relu"), (25, "medium", "tanh"), (SIZE, "medium", "relu")),
    *((1, "double", "tanh"), (SIZE, "double", "relu")),
]
ALL_PYRAMIDS = itertools.product((1, 25, SIZE), ("highest", "medium", "double"), ("tanh", "relu"))


class Absent:
    """The driver of a GPU that is not there."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


def compile_only(kernel: JITFunction, *arguments: Any, warmup: bool, **options: Any) -> None:
    """In the place of a launch."""
    compiled = launch(kernel, *arguments, warmup=True, **options)
    about = {"bytes": len(compiled.asm["cubin"]), "shared": compiled.metadata.shared}
    print(json.dumps({"kernel": kernel.fn.__name__, **about}), flush=True)


def pyramid() -> None:
    """Forward and backward."""
    for n_groups, precision, activation in ALL_PYRAMIDS if ALL else PYRAMIDS:
        dtype = torch.float64 if precision == "double" else torch.float32
        if dtype == torch.float32:
            torch.set_float32_matmul_precision(precision)
        gates = 3 * n_groups
        shapes = [(SIZE, SIZE), (SIZE, SIZE), (SIZE,), (gates, SIZE), (gates, SIZE), (gates,)]
        weights = PyramidWeights(
            *[torch.zeros(shape, dtype=dtype, requires_grad=True) for shape in shapes]
        )
        words, lengths = torch.zeros(2, 3, SIZE, dtype=dtype), torch.tensor([3, 2])
        how = {"activation": activation, "pooling": "max" if activation == "tanh" else "mean"}
        cuda.pyramid_cuda(words, lengths, weights, **how).sum().backward()
        with torch.no_grad():  # units are packed
            cuda.pyramid_cuda(words, lengths.flip(0), weights, **how)


def rows() -> None:
    """Sums over equal words, and both updates."""
    table, one = torch.zeros(1, 5, SIZE), torch.ones(1)
    gradient = TritonRows(torch.zeros(1, 4, dtype=torch.int64), torch.zeros(1, 4, SIZE), 5)
    gradient.adam(table, AdamStep(table, table, one, one, one, 0.9, 0.999, 1e-8))
    gradient.adagrad(table, AdagradStep(table, one, one, 1e-10))


def dense() -> None:
    """Both updates of dense weights, with a table and without."""
    one, n_rows = torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64)
    settings = itertools.product(OPTIMIZERS.values(), (torch.float32, torch.float64), (True, False))
    for kind, dtype, tune in settings:
        weights, table = torch.zeros(2, 9001, dtype=dtype), torch.zeros(2, 5, SIZE, dtype=dtype)
        ids, of_words = torch.zeros(2, 4, dtype=torch.int64), torch.zeros(2, 4, SIZE, dtype=dtype)
        rows = TritonRows(ids, of_words, 5) if tune else None
        kind(weights, table, one).update(weights, weights, table, rows, one, n_rows)


def dropout() -> None:
    """Keyed dropout."""
    key, rate = torch.ones(1, dtype=torch.int64), torch.zeros(1, dtype=torch.float64)
    dropout_triton.dropout(torch.zeros(1, 2, 3, SIZE), key, rate, 0)


def level_norm() -> None:
    """Forward and backward; by all inputs, by x and by the weights."""
    for size, dtype in itertools.product(
        (1, 7, SIZE, 300) if ALL else (1, SIZE), (torch.float32, torch.float64)
    ):
        x, weight = torch.zeros(2, 3, size, dtype=dtype), torch.ones(size, dtype=dtype)
        for by_x, by_weights in ((True, True), (True, False), (False, True)):
            x.requires_grad_(by_x)
            weight.requires_grad_(by_weights)
            norm._level_norm_triton(x, weight, weight, 1e-5).sum().backward()


if __name__ == "__main__":
    driver.set_active(Absent())
    launch = JITFunction.run
    JITFunction.run = compile_only
    cuda._interpreted = lambda: True  # or it would refuse tensors of the CPU
    optimizer._kernels = lambda device: dense_triton
    for compile_all in (pyramid, rows, dense, dropout, level_norm):
        compile_all()
