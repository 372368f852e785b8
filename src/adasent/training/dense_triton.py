# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
"""Dense weights on CUDA: what a step needs of each model, and the step itself, as Triton kernels.

The definition is :meth:`adasent.training.optimizer.Optimizer.update`. Sums are of parts whose size
and order are fixed, so that a run repeats bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from adasent.training.optimizer import Betas, Pace

_PART = 4096  # numbers of a gradient that are summed by one program
_BLOCK = 1024  # weights that are updated by one program

_empty = torch.empty  # a name of our own: the tests poison what it returns


def pace(
    gradient: Tensor,  # (K, P)
    row_squares: Tensor | None,  # (K,) what the rows of the table add to the squared norm
    clip_norm: Tensor,  # (K,)
    n_rows: Tensor,  # (K,)
    state: Mapping[str, Tensor],
    betas: Betas | None,  # None: AdaGrad
) -> Pace:
    """What a step needs; counts Adam's steps in ``state``."""
    gradient = gradient.contiguous()
    n_models, n = gradient.shape
    n_parts = triton.cdiv(n, _PART)
    squares = _empty((n_models, n_parts), dtype=torch.float64, device=gradient.device)
    norms = _empty(n_models, dtype=torch.float64, device=gradient.device)
    numbers = _empty((5, n_models), dtype=gradient.dtype, device=gradient.device)
    _squares[(n_parts, n_models)](gradient, squares, n, PART=_PART)
    log1, log2 = (0.0, 0.0) if betas is None else map(math.log, betas)
    _pace[(n_models,)](
        squares, row_squares, clip_norm, n_rows,
        state["learning_rate"], state["table_rate"], state.get("steps"), norms, numbers, n_parts,
        PARTS=triton.next_power_of_2(n_parts), ADAM=betas is not None, LOG1=log1, LOG2=log2,
        num_warps=1,
    )  # fmt: skip
    return Pace(norms, *numbers.unbind())


def update(
    weights: Tensor,
    gradient: Tensor,
    sums: Sequence[Tensor],  # what is kept of each weight, (K, P) as they
    pace: Pace,
    betas: Betas | None,
    eps: float,
) -> None:
    """The step of all models that are active, in place."""
    n_models, n = weights.shape
    share1, share2 = (0.0, 0.0) if betas is None else (1 - beta for beta in betas)
    _update[(triton.cdiv(n, _BLOCK), n_models)](
        weights, gradient.contiguous(), sums[0], sums[-1], *pace[1:5], n,
        ADAM=betas is not None, SHARE1=share1, SHARE2=share2, EPS=eps, BLOCK=_BLOCK,
    )  # fmt: skip


@triton.jit
def _squares(gradient, squares, n, PART: tl.constexpr):
    """Sum of squares of a part of a model's gradient."""
    part, model = tl.program_id(0), tl.program_id(1).to(tl.int64)
    at = part * PART + tl.arange(0, PART)
    values = tl.load(gradient + model * n + at, mask=at < n, other=0.0)
    tl.store(squares + model * tl.num_programs(0) + part, tl.sum(values * values, axis=0))


@triton.jit
def _pace(
    squares, row_squares, clip_norm, n_rows, learning_rate, table_rate, steps, norms, numbers,
    n_parts, PARTS: tl.constexpr, ADAM: tl.constexpr, LOG1: tl.constexpr, LOG2: tl.constexpr,
):  # fmt: skip
    """The numbers of one model, in double precision until they are stored."""
    model = tl.program_id(0)
    n_models = tl.num_programs(0)
    part = tl.arange(0, PARTS)
    own = tl.load(squares + model * n_parts + part, mask=part < n_parts, other=0.0)
    total = tl.sum(own, axis=0)
    if row_squares is not None:
        total += tl.load(row_squares + model).to(tl.float64)
    norm = tl.sqrt(total)
    clip = tl.load(clip_norm + model) / norm
    active = (tl.load(n_rows + model) > 0).to(tl.float64)
    size = tl.load(learning_rate + model)
    correction = size * 0.0 + 1.0
    if ADAM:
        count = tl.load(steps + model) + active
        tl.store(steps + model, count)
        count = tl.maximum(count, 1.0)
        size = size * active / (1.0 - tl.exp(count * LOG1))
        correction = tl.sqrt(1.0 - tl.exp(count * LOG2))
    tl.store(norms + model, norm)
    tl.store(numbers + model, active)
    tl.store(numbers + n_models + model, tl.where(clip > 1.0, 1.0, clip) * active)
    tl.store(numbers + 2 * n_models + model, size)
    tl.store(numbers + 3 * n_models + model, correction)
    tl.store(numbers + 4 * n_models + model, size * correction * tl.load(table_rate + model))


@triton.jit
def _update(
    weights, gradient, first, second, active, scale, size, correction, n,
    ADAM: tl.constexpr, SHARE1: tl.constexpr, SHARE2: tl.constexpr, EPS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """The step of a block of weights; ``first`` and ``second`` are one for AdaGrad."""
    model = tl.program_id(1).to(tl.int64)
    if tl.load(active + model) > 0:
        column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        at, inside = model * n + column, column < n
        g = tl.load(gradient + at, mask=inside, other=0.0) * tl.load(scale + model)
        w = tl.load(weights + at, mask=inside, other=0.0)
        v = tl.load(second + at, mask=inside, other=0.0)
        direction = g
        if ADAM:
            direction = tl.load(first + at, mask=inside, other=0.0)
            direction += SHARE1 * (g - direction)
            tl.store(first + at, direction, mask=inside)
            v += SHARE2 * (g * g - v)
        else:
            v += g * g
        tl.store(second + at, v, mask=inside)
        root = tl.sqrt(v) / tl.load(correction + model) + EPS
        tl.store(weights + at, w - tl.load(size + model) * direction / root, mask=inside)
