"""The pyramid on CUDA: a batched matrix product a level, the rest one Triton kernel, its gradient.

All sentences of a batch and all models of a stack go up together. Matrix products are torch's, over
the padded units of a level, at the precision that torch is set to; ``cuda_kernels`` does the rest.
Nothing is read by the host, so a step can be captured in a CUDA graph. The backward pass goes down
the levels as on the CPU (``README.md`` derives it).
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from adasent.errors import ConfigError, require
from adasent.pyramid.weights import How, PyramidWeights, differentiable

#: Positions that one program walks along; texts of more words are cut into so many.
SEGMENT = 128
#: Numbers in the gradient at the products of a stack that are held at a time, if a level has less.
MOST_NUMBERS = 2**28

_empty = torch.empty  # a name of our own: the tests poison what it returns


def cuda_unavailable(words: Tensor, weights: PyramidWeights) -> str | None:
    """Why :func:`pyramid_cuda` cannot run on these tensors here; None when it can."""
    if not words.is_cuda:
        return f"words are on {words.device.type}, the kernels need CUDA"
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed"
    return _unsupported(words, weights)


def _unsupported(words: Tensor, weights: PyramidWeights) -> str | None:
    """What the kernels do not do, wherever they run."""
    if weights.gate_out is not None:
        return "the kernels have no MLP gate"
    for name, tensor in [("words", words), *zip(weights._fields, weights, strict=True)]:
        if tensor is not None and tensor.dtype not in (torch.float32, torch.float64):
            return f"the kernels take float32 and float64, {name} are {tensor.dtype}"
    return None


def pyramid_cuda(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    height: int | None = None,
) -> Tensor:
    """Same contract as :func:`adasent.pyramid.dispatch.pyramid`, for the softmax gate."""
    reason = _unsupported(words, weights)
    if reason is None and not words.is_cuda and not _interpreted():
        reason = cuda_unavailable(words, weights)
    if reason is not None:
        raise ConfigError(f"the pyramid on CUDA cannot run: {reason}; use pyramid_packed")
    inputs = (words, *weights.relative())
    how = How.of(activation, pooling, height, inputs)
    levels: Tensor = _PyramidOnCuda.apply(lengths, *inputs, how, _Tape())  # type: ignore[no-untyped-call]
    return levels


class _Tape:
    """What the forward pass leaves for the backward pass, of K models.

    Levels follow each other: level t of all sentences of a model has the rows from ``starts[t]``.
    """

    lengths: Tensor  # (K, B)
    n_words: int  # T
    starts: list[int]  # of each level, and the number of rows
    units: Tensor  # (K, rows, D)
    kept: Tensor  # (K, rows of the levels above the first, D), see ``_slope``
    gates: Tensor  # likewise (K, ..., 2 N), of the left and the right child
    pooled: Tensor  # (K, B, L, D)
    ties: Tensor  # (K, B, L, D), units that share a maximum


class _PyramidOnCuda(torch.autograd.Function):
    """Of one model, or of a stack: every tensor then has a first axis of K."""

    @staticmethod
    def forward(
        lengths: Tensor, words: Tensor, matrices: Tensor, bias: Tensor, how: How, tape: _Tape
    ) -> Tensor:
        stacked = words.dim() == 4
        if not stacked:
            lengths, words, matrices, bias = (x[None] for x in (lengths, words, matrices, bias))
        with torch.cuda.device_of(words):  # type: ignore[no-untyped-call] # Triton launches there
            pooled = _climb(lengths, words, matrices, bias, how, tape)
        return pooled if stacked else pooled[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, _, matrices, _, ctx.how, ctx.tape = inputs
        ctx.save_for_backward(matrices)

    @staticmethod
    def backward(ctx: Any, d_levels: Tensor) -> tuple[Tensor | None, ...]:
        (matrices,) = ctx.saved_tensors
        stacked = d_levels.dim() == 4
        inputs = (d_levels, matrices) if stacked else (d_levels[None], matrices[None])
        with torch.no_grad(), torch.cuda.device_of(d_levels):  # type: ignore[no-untyped-call]
            found = _descend(*inputs, ctx.how, ctx.tape)
        return None, *(x if stacked else x[0] for x in found), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One stack of models for all."""
        *tensors, how, _ = inputs
        stacked = [
            x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(tensors, in_dims, strict=False)
        ]
        how = replace(how, keep=differentiable(stacked[1:]))
        return _PyramidOnCuda.apply(*stacked, how, _Tape()), 0  # type: ignore[no-untyped-call]


def _climb(
    lengths: Tensor, words: Tensor, matrices: Tensor, bias: Tensor, how: How, tape: _Tape
) -> Tensor:
    """words (K, B, T, D), matrices (K, 2 D + 4 N, D), bias (K, D + 2 N) -> (K, B, L, D)."""
    n_models, n_sentences, n_words, size = words.shape
    width = matrices.shape[1]
    to: dict[str, Any] = {"dtype": words.dtype, "device": words.device}
    tile = _Tile(size, (width - 2 * size) // 4)
    n_levels = min(n_words, how.height or n_words)
    tape.lengths, tape.n_words = lengths.contiguous(), n_words
    pooled = _empty(n_models, n_sentences, n_levels, size, **to)
    tape.pooled = pooled.detach()  # another tensor than the one that will know its origin
    tape.ties = _empty(*pooled.shape, **to) if how.maximum else tape.pooled
    counts = [n_sentences * (n_words - level) for level in range(n_levels)]
    tape.starts = list(itertools.accumulate(counts, initial=0))
    # Without a backward pass, every level is written over the one before the last.
    n_rows = tape.starts[-1] if how.keep else 2 * counts[0]
    tape.units = _empty(n_models, n_rows, size, **to)
    n_cells = tape.starts[-1] - counts[0] if how.keep else 0
    tape.kept = _empty(n_models, n_cells, size, **to)
    tape.gates = _empty(n_models, n_cells, 2 * tile.n, **to)
    bias, turned = bias.contiguous(), matrices.transpose(1, 2)
    product = _empty(n_models * counts[0] * width if n_levels > 1 else 0, **to)
    below = words.contiguous()
    for level, n_units in enumerate(counts):
        first = tape.starts[level] if how.keep else level % 2 * counts[0]
        if level:
            shape = (n_models, counts[level - 1], width)
            torch.bmm(below, turned, out=product[: math.prod(shape)].view(shape))
        n_segments = -(-(n_words - level) // SEGMENT)
        parts, ties, step = tape.pooled[:, :, level], tape.ties[:, :, level], n_levels * size
        if n_segments > 1:
            parts, ties = (_empty(n_models, n_sentences, n_segments, size, **to) for _ in range(2))
            step = n_segments * size
        units = tape.units[:, first : first + n_units]
        cell = max(tape.starts[level] - counts[0], 0)
        _kernels().forward_kernel[(n_models * n_sentences, n_segments)](
            below, product, bias, tape.lengths, units, tape.kept[:, cell:], tape.gates[:, cell:],
            parts, ties, n_sentences, n_words, level,
            n_rows if level else counts[0], n_rows, n_cells, step,
            D=size, N=tile.n, Q=tile.q, P=tile.p, SEGMENT=SEGMENT, CUT=n_segments > 1,
            FIRST=level == 0, RELU=how.relu, MAX=how.maximum, KEEP=how.keep, num_warps=tile.warps,
        )  # fmt: skip
        if n_segments > 1:
            _pool_segments(parts, ties, level, how, tape)
        below = units
    return pooled


def _pool_segments(parts: Tensor, ties: Tensor, level: int, how: How, tape: _Tape) -> None:
    """What the segments (K, B, n, D) of a level have in all."""
    pooled = tape.pooled[:, :, level]
    if not how.maximum:
        torch.sum(parts, dim=2, out=pooled)
        return
    highest = parts.amax(dim=2)
    pooled.copy_(highest.masked_fill((tape.lengths <= level)[..., None], 0.0))
    is_highest = parts == highest[:, :, None]
    tape.ties[:, :, level] = torch.where(is_highest, ties, 0.0).sum(dim=2)


def _descend(d_levels: Tensor, matrices: Tensor, how: How, tape: _Tape) -> tuple[Tensor, ...]:
    """Gradients by words (K, B, T, D), matrices and bias from that at the pooled levels."""
    n_models, n_sentences, n_levels, size = d_levels.shape
    width = matrices.shape[1]
    to: dict[str, Any] = {"dtype": d_levels.dtype, "device": d_levels.device}
    tile = _Tile(size, (width - 2 * size) // 4)
    n_rows, n_cells = tape.units.shape[1], tape.kept.shape[1]
    n_multiplied = tape.starts[-2]  # all units but those of the top level
    d_levels = d_levels.contiguous()
    most = -(-tape.n_words // SEGMENT)
    d_bias = torch.zeros(n_models, n_sentences * most, size + 2 * tile.n, **to)
    # The gradient at the product, of so many levels at a time as there is room for.
    n_together = max(tape.starts[1], MOST_NUMBERS // (n_models * width))
    d_product = _empty(n_models, min(n_together, n_multiplied), width, **to)
    d_matrices = torch.zeros_like(matrices)
    d_units, end = d_product, n_multiplied
    for level in range(n_levels - 1, -1, -1):
        first, last = tape.starts[level], tape.starts[level + 1]
        if level < n_levels - 1 and end - first > d_product.shape[1]:
            _add_weights(d_matrices, d_product, tape.units[:, last:end])
            end = last
        lowest = end - d_product.shape[1]  # the unit whose gradient lies first
        d_below = _empty(n_models, last - first, size, **to)
        cell = last - tape.starts[1]
        _kernels().backward_kernel[(n_models * n_sentences, -(-(tape.n_words - level) // SEGMENT))](
            tape.units[:, first:], tape.kept[:, cell:], tape.gates[:, cell:], d_units,
            tape.pooled[:, :, level], tape.ties[:, :, level], d_levels[:, :, level], tape.lengths,
            d_below, d_product[:, first - lowest :], d_bias,
            n_sentences, tape.n_words, level, n_rows, n_cells, d_product.shape[1],
            n_levels * size, most,
            D=size, N=tile.n, Q=tile.q, P=tile.p, SEGMENT=SEGMENT, TOP=level == n_levels - 1,
            RELU=how.relu, MAX=how.maximum, num_warps=tile.warps,
        )  # fmt: skip
        if level < n_levels - 1:
            d_below.baddbmm_(d_product[:, first - lowest : last - lowest], matrices)
        d_units = d_below
    if n_multiplied:
        _add_weights(d_matrices, d_product, tape.units[:, :end])
    return d_units.view(n_models, n_sentences, -1, size), d_matrices, d_bias.sum(dim=1)


def _add_weights(d_matrices: Tensor, d_product: Tensor, units: Tensor) -> None:
    """What the last rows of the gradient at the product, those of these units, add."""
    rows = d_product[:, d_product.shape[1] - units.shape[1] :]
    d_matrices.baddbmm_(rows.transpose(1, 2), units)


class _Tile:
    """The tile of a unit: Q rows for the dimensions of a group, P columns for the groups."""

    def __init__(self, size: int, n_groups: int) -> None:
        self.n = n_groups
        self.q, self.p = (1 << (n - 1).bit_length() for n in (size // n_groups, n_groups))
        self.warps = max(1, min(8, self.q * self.p // 128))


def _kernels() -> ModuleType:
    """The Triton side, imported when first used."""
    require("triton", "gpu", "the pyramid on CUDA")
    from adasent.pyramid import cuda_kernels

    return cuda_kernels


def _interpreted() -> bool:
    """Whether the kernels run in Triton's interpreter, which takes tensors of the CPU."""
    if importlib.util.find_spec("triton") is None:
        return False
    return type(_kernels().forward_kernel).__name__ == "InterpretedFunction"
