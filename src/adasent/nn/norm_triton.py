# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
"""Layer norm of a stack of models on CUDA and its gradient, each one Triton kernel.

A program has a block of rows of one model in registers, so that each number is read and written
once. Mean and deviation are not kept: backward, which has to read the rows, computes them again.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_ROWS = 32  # of one program, or fewer:
_NUMBERS = 4096  # of one program, if a row has less

_empty = torch.empty  # a name of our own: the tests poison what it returns


def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """x (K, R, D), weight and bias (K, D)."""
    x, weight, bias = x.contiguous(), _with_rows(weight), _with_rows(bias)
    out = _empty(x.shape, dtype=x.dtype, device=x.device)
    n_models, n_rows, size = x.shape
    rows, columns, n_warps = _tile(size)
    _forward[(triton.cdiv(n_rows, rows), n_models)](
        x, weight, bias, out, n_rows, weight.stride(0), bias.stride(0),
        D=size, EPS=eps, ROWS=rows, COLUMNS=columns, num_warps=n_warps,
    )  # fmt: skip
    return out


def gradients(
    d_out: Tensor, x: Tensor, weight: Tensor, eps: float, *, by_x: bool, by_weights: bool
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """By x (K, R, D), weight and bias (K, D); None where it was not asked for."""
    d_out, x, weight = d_out.contiguous(), x.contiguous(), _with_rows(weight)
    n_models, n_rows, size = x.shape
    rows, columns, n_warps = _tile(size)
    n_programs = triton.cdiv(n_rows, rows)
    d_x = _empty(x.shape, dtype=x.dtype, device=x.device) if by_x else None
    sums = None
    if by_weights:
        # Each program has a place of its own, so that the order of the sum is always the same.
        sums = _empty((n_models, n_programs, 2, size), dtype=x.dtype, device=x.device)
    _backward[(n_programs, n_models)](
        d_out, x, weight, d_x, sums, n_rows, weight.stride(0),
        D=size, EPS=eps, ROWS=rows, COLUMNS=columns, BY_X=by_x, BY_WEIGHTS=by_weights,
        num_warps=n_warps,
    )  # fmt: skip
    d_weight, d_bias = (None, None) if sums is None else sums.sum(dim=1).unbind(dim=1)
    return d_x, d_weight, d_bias


def _tile(size: int) -> tuple[int, int, int]:
    """Rows, columns and warps of a program."""
    columns = triton.next_power_of_2(size)
    rows = max(1, min(_ROWS, _NUMBERS // columns))
    return rows, columns, max(1, min(8, rows * columns // 512))


def _with_rows(weights: Tensor) -> Tensor:
    """The same (K, D), each row in one piece; rows may lie apart, or be one row K times."""
    return weights if weights.stride(1) == 1 else weights.contiguous()


@triton.jit
def _places(n_rows, D: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Where the numbers of this program are, and which of them there are."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    feature = tl.arange(0, COLUMNS)
    inside = (row < n_rows)[:, None] & (feature < D)[None, :]
    return (tl.program_id(1).to(tl.int64) * n_rows + row)[:, None] * D + feature[None, :], inside


@triton.jit
def _weights(weights, stride, D: tl.constexpr, COLUMNS: tl.constexpr):
    """Those of this program's model."""
    feature = tl.arange(0, COLUMNS)
    at = tl.program_id(1).to(tl.int64) * stride + feature
    return tl.load(weights + at, mask=feature < D, other=0.0)[None, :]


@triton.jit
def _normalise(values, inside, D: tl.constexpr, EPS: tl.constexpr):
    """Rows of mean 0 and variance 1, zeros outside, and what they were multiplied by."""
    distance = values - (tl.sum(values, axis=1) / D)[:, None]
    distance = tl.where(inside, distance, 0.0)
    scale = (1.0 / tl.sqrt(tl.sum(distance * distance, axis=1) / D + EPS))[:, None]
    return tl.where(inside, distance * scale, 0.0), scale


@triton.jit
def _forward(
    x, weight, bias, out, n_rows, weight_stride, bias_stride,
    D: tl.constexpr, EPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    at, inside = _places(n_rows, D, ROWS, COLUMNS)
    values = tl.load(x + at, mask=inside, other=0.0)
    factor = _weights(weight, weight_stride, D, COLUMNS)
    offset = _weights(bias, bias_stride, D, COLUMNS)
    normed, _ = _normalise(values, inside, D, EPS)
    tl.store(out + at, normed * factor + offset, mask=inside)


@triton.jit
def _backward(
    d_out, x, weight, d_x, sums, n_rows, weight_stride,
    D: tl.constexpr, EPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    BY_X: tl.constexpr, BY_WEIGHTS: tl.constexpr,
):  # fmt: skip
    at, inside = _places(n_rows, D, ROWS, COLUMNS)
    values = tl.load(x + at, mask=inside, other=0.0)
    gradient = tl.load(d_out + at, mask=inside, other=0.0)
    factor = _weights(weight, weight_stride, D, COLUMNS)
    normed, scale = _normalise(values, inside, D, EPS)
    if BY_X:
        by_normed = gradient * factor
        # A row has lost its mean and its length, and so has the gradient at it.
        mean = tl.sum(by_normed, axis=1) / D
        along = tl.sum(by_normed * normed, axis=1) / D
        by_values = scale * (by_normed - mean[:, None] - along[:, None] * normed)
        tl.store(d_x + at, by_values, mask=inside)
    if BY_WEIGHTS:
        program = tl.program_id(1).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
        feature = tl.arange(0, COLUMNS)
        sums += program * 2 * D + feature
        tl.store(sums, tl.sum(gradient * normed, axis=0), mask=feature < D)
        tl.store(sums + D, tl.sum(gradient, axis=0), mask=feature < D)
