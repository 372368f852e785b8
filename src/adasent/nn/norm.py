"""Layer norm of the levels (B, L, D) of a pyramid: torch's, and on CUDA a faster twin of it.

Under vmap torch normalises, multiplies and adds in kernels of their own. The twin
(:mod:`adasent.nn.norm_triton`) is one kernel each way for all models of a stack. Nothing is read by
the host, so a step can be captured in a CUDA graph, and it repeats bit for bit.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class LevelNorm(nn.LayerNorm):
    """``nn.LayerNorm`` over the last axis, with the same parameters, by :func:`level_norm`."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__(size, eps)

    def forward(self, levels: Tensor) -> Tensor:
        """Levels (..., D) of mean 0 and variance 1, times ``weight``, plus ``bias``."""
        return level_norm(levels, self.weight, self.bias, self.eps)


def level_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Normalise x (..., D) over its last axis; weight and bias are (D,).

    Under vmap each of the three may have a model axis.
    """
    if _has_kernels(x, weight, bias):
        return _level_norm_triton(x, weight, bias, eps)
    return nn.functional.layer_norm(x, weight.shape, weight, bias, eps)


def _has_kernels(x: Tensor, weight: Tensor, bias: Tensor) -> bool:
    """Whether the kernels do this; torch does, or refuses, the rest."""
    alike = all(tensor.is_cuda and tensor.dtype == x.dtype for tensor in (x, weight, bias))
    fits = x.shape[-1:] == weight.shape == bias.shape and x.numel() > 0
    known = x.dtype in (torch.float32, torch.float64)
    return alike and fits and known and _kernels() is not None


def _level_norm_triton(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Also on the CPU, in Triton's interpreter."""
    normed: Tensor = _LevelNorm.apply(x, weight, bias, eps)  # type: ignore[no-untyped-call]
    return normed


class _LevelNorm(torch.autograd.Function):
    """Over any leading model axes: x (M, ..., D), weight and bias (M, D)."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        kernels = _kernels()
        assert kernels is not None
        rows, weights = _stacked(x, weight)
        with torch.cuda.device_of(x):  # type: ignore[no-untyped-call] # Triton launches there
            normed: Tensor = kernels.norm(rows, weights, bias.reshape(weights.shape), eps)
        return normed.view(x.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, weight, _, ctx.eps = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        kernels = _kernels()
        assert kernels is not None
        x, weight = ctx.saved_tensors
        rows, weights = _stacked(x, weight)
        by_x, by_weight, by_bias, _ = ctx.needs_input_grad
        with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
            d_x, d_weight, d_bias = kernels.gradients(
                gradient.reshape(rows.shape), rows, weights, ctx.eps,
                by_x=by_x, by_weights=by_weight or by_bias,
            )  # fmt: skip
        return (
            d_x.view(x.shape) if by_x else None,
            d_weight.reshape(weight.shape) if by_weight else None,
            d_bias.reshape(weight.shape) if by_bias else None,
            None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One stack of models for all."""
        *tensors, eps = inputs
        x, weight, bias = (
            value.expand(info.batch_size, *value.shape) if dim is None else value.movedim(dim, 0)
            for value, dim in zip(tensors, in_dims, strict=False)
        )
        return _level_norm_triton(x, weight, bias, eps), 0


def _stacked(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(K, R, D) and (K, D): the model axes as one, and the rows of a model as one."""
    size = weight.shape[-1]
    weights = weight.reshape(-1, size)
    return x.reshape(len(weights), -1, size), weights


@cache
def _kernels() -> ModuleType | None:
    """The Triton side, or None where Triton is not installed."""
    try:
        return importlib.import_module("adasent.nn.norm_triton")
    except ImportError:
        return None
