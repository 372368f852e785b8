"""Every Triton kernel compiled for a GPU that need not be there; prints a line of JSON for each.

Run in a process of its own, by ``tests/test_triton.py``. The library's own code launches the
kernels, on tensors of the CPU, so that they are compiled for just the arguments that it passes; a
launch compiles and does nothing more.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from adasent.nn import dropout_triton
from adasent.pyramid import cuda
from adasent.pyramid.weights import PyramidWeights
from adasent.training.optimizer import AdagradStep, AdamStep
from adasent.training.rows_triton import TritonRows

SIZE = 100  # D of the default settings


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
    for n_groups in (1, 25, SIZE):
        gates = 3 * n_groups
        shapes = [(SIZE, SIZE), (SIZE, SIZE), (SIZE,), (gates, SIZE), (gates, SIZE), (gates,)]
        weights = PyramidWeights(*[torch.zeros(shape, requires_grad=True) for shape in shapes])
        words, lengths = torch.zeros(2, 3, SIZE), torch.tensor([3, 2])
        cuda.pyramid_cuda(words, lengths, weights, pooling="max").sum().backward()


def rows() -> None:
    """Sums over equal words, and both updates."""
    table, one = torch.zeros(1, 5, SIZE), torch.ones(1)
    gradient = TritonRows(torch.zeros(1, 4, dtype=torch.int64), torch.zeros(1, 4, SIZE), 5)
    gradient.adam(table, AdamStep(table, table, one, one, one, 0.9, 0.999, 1e-8))
    gradient.adagrad(table, AdagradStep(table, one, one, 1e-10))


def dropout() -> None:
    """Keyed dropout."""
    key, rate = torch.ones(1, dtype=torch.int64), torch.zeros(1, dtype=torch.float64)
    dropout_triton.dropout(torch.zeros(1, 2, 3, SIZE), key, rate, 0)


if __name__ == "__main__":
    driver.set_active(Absent())
    launch = JITFunction.run
    JITFunction.run = compile_only
    cuda._interpreted = lambda: True  # or it would refuse tensors of the CPU
    for compile_all in (pyramid, rows, dropout):
        compile_all()
