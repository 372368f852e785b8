"""Padded words of one or many models -> pooled levels, in one Triton launch, with its gradient.

All sentences of a batch, whatever their lengths, and all models of a stack go up their pyramids in
one kernel (``fused_kernels``); the way back is one kernel more, and two small ones collect the
weight gradients. Nothing is read by the host, so a step can be captured in a CUDA graph.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from adasent.errors import ConfigError, require
from adasent.pyramid.weights import ACTIVATIONS, POOLINGS, PyramidWeights

MAX_SIZE = 256
PRECISIONS = ("tf32", "tf32x3", "ieee")

#: Up to so many sentences (about four a multiprocessor of a large GPU) each has its own program.
FEW_SENTENCES = 512

#: Shares of a model's cells whose weight gradients are summed apart. Fixed, so that a model's
#: gradient does not depend on what else is in the stack.
SPLITS = 16


@dataclass(frozen=True)
class Tiling:
    """How the work is cut; results agree to rounding."""

    group: int  # sentences a program owns: few when they are fewer than multiprocessors
    rows: int = 64  # of a tile, a multiple of ``group``; Hopper's fast products need 64
    resident: bool = False  # both weight matrices stay in shared memory; else they come in chunks
    chunk: int = 32  # rows of a weight matrix read at a time when not resident
    warps: int = 8
    backward_warps: int = 8
    stages: int = 1
    cells: int = 64  # of the weight-gradient kernel, as ``tile``, its block size
    tile: int = 128
    weight_warps: int = 8
    weight_stages: int = 3


class Options(NamedTuple):
    """What a call fixes beside its tensors."""

    relu: bool
    maximum: bool
    precision: str
    storage: torch.dtype
    keep: bool  # whether a backward pass may follow
    max_cells: int | None
    tiling: Tiling | None


def fused_unavailable(
    words: Tensor,
    weights: PyramidWeights,
    *,
    height: int | None = None,
    storage: torch.dtype = torch.float32,
) -> str | None:
    """Why :func:`pyramid_fused` cannot run on these tensors here; None when it can."""
    if height is not None:
        return "the kernel has no height"
    if not words.is_cuda:
        return f"words are on {words.device.type}, the kernel needs CUDA"
    if torch.cuda.get_device_capability(words.device) < (8, 0):
        return "the kernel needs a GPU of compute capability 8.0 or later"
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed"
    return _unsupported(words, weights, storage)


def _unsupported(words: Tensor, weights: PyramidWeights, storage: torch.dtype) -> str | None:
    """What the kernel does not do, wherever it runs."""
    if weights.gate_out is not None:
        return "the kernel has no MLP gate"
    if weights.n_groups > 1:
        return "the kernel has one gate for all dimensions"
    if words.shape[-1] > MAX_SIZE:
        return f"the kernel takes sizes up to {MAX_SIZE}, got {words.shape[-1]}"
    for name, tensor in [("words", words), *zip(weights._fields, weights, strict=True)]:
        if tensor is not None and tensor.dtype != torch.float32:
            return f"the kernel takes float32, {name} are {tensor.dtype}"
    if storage not in (torch.float32, torch.bfloat16):
        return f"the kernel stores float32 or bfloat16, not {storage}"
    return None


def pyramid_fused(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    precision: str = "tf32",
    storage: torch.dtype = torch.float32,
    max_cells: int | None = None,
    tiling: Tiling | None = None,
) -> Tensor:
    """Pooled levels of a padded batch, as :func:`adasent.pyramid.dispatch.pyramid`.

    Parameters
    ----------
    words
        (B, T, D) first level h^1 or, for K stacked models, (K, B, T, D); what lies beyond a
        sentence's length is never read and gets no gradient.
    lengths
        (B,) or (K, B) words of each sentence, at most T, on the device of ``words``.
    weights
        Of one model, or each with a leading axis of K.
    precision
        Of the matrix products of float32: "tf32", "tf32x3" (three of them, near float32) or "ieee".
    storage
        float32, or bfloat16: units are then rounded when stored, and multiplied as bfloat16.
    max_cells
        Upper bound of the sum of T (T + 1) / 2 over all sentences of all models, under ``vmap``
        too. It sizes the buffers of the backward pass; None: as if all sentences had T words.
        Where it is too small, the levels of the sentences that do not fit are NaN.
    tiling
        None: chosen by size and device.

    Returns
    -------
    (B, T, D) or (K, B, T, D): row t - 1 is level t pooled; zeros above a sentence's top level.
    """
    reason = _unsupported(words, weights, storage)
    if reason is None and not words.is_cuda and not _interpreted():
        reason = fused_unavailable(words, weights, storage=storage)
    if reason is not None:
        raise ConfigError(f"the fused pyramid cannot run: {reason}; use pyramid_packed")
    for name, value, valid in [
        ("activation", activation, ACTIVATIONS),
        ("pooling", pooling, POOLINGS),
        ("precision", precision, PRECISIONS),
    ]:
        if value not in valid:
            raise ConfigError(f"{name} must be one of {', '.join(valid)}, got {value!r}")
    stacked = words.dim() == 4
    tensors = [words, lengths, *weights[:6]]
    if not stacked:
        tensors = [tensor.unsqueeze(0) for tensor in tensors]
    keep = _need_gradient(tensors)
    options = Options(
        activation == "relu", pooling == "max", precision, storage, keep, max_cells, tiling
    )
    levels: Tensor = _Forward.apply(*tensors, options)[0]  # type: ignore[no-untyped-call]
    return levels if stacked else levels.squeeze(0)


class _Forward(Function):
    """words (K, B, T, D), lengths (K, B), six weights, options -> levels and what backward needs.

    What is kept is returned, because ``torch.func`` lets a function save only what it takes and
    gives. The kept buffers belong to the whole stack: to ``vmap`` they have no model axis.
    """

    @staticmethod
    def forward(words: Tensor, lengths: Tensor, *args: Any) -> tuple[Tensor, ...]:
        *weights, options = args
        # Triton launches on the current device.
        with torch.cuda.device_of(words):  # type: ignore[no-untyped-call]
            return _run_forward(words, lengths, tuple(weights), options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.options = inputs[-1]
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # or zeros as large as the buffers would be made
        ctx.save_for_backward(*output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return (None,) * 9
        found = _Backward.apply(  # type: ignore[no-untyped-call]
            gradients[0], *ctx.saved_tensors, ctx.options
        )
        return (found[0], None, *found[1:], None)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        *tensors, options = args
        stacked = _stack(info.batch_size, tensors, in_dims)
        if _need_gradient(stacked):  # which vmap's own tensors do not tell
            options = options._replace(keep=True)
        levels, *kept = _Forward.apply(*stacked, options)  # type: ignore[no-untyped-call]
        unstacked = levels.unflatten(0, (info.batch_size, -1))
        return (unstacked, *kept), (0, *[None] * len(kept))


class _Backward(Function):
    """d_levels and what ``_Forward`` gave -> gradients by words and weights. Has none itself."""

    @staticmethod
    def forward(d_levels: Tensor, *args: Any) -> tuple[Tensor, ...]:
        *saved, options = args
        with torch.cuda.device_of(d_levels):  # type: ignore[no-untyped-call]
            return _run_backward(d_levels, tuple(saved), options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> None:
        raise NotImplementedError(
            "the fused pyramid has no second derivative; use pyramid_packed for one"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        *tensors, options = args
        d_levels, levels, *kept = tensors
        stacked = _stack(info.batch_size, [d_levels, levels], in_dims)
        found = _Backward.apply(*stacked, *kept, options)  # type: ignore[no-untyped-call]
        unstacked = tuple(gradient.unflatten(0, (info.batch_size, -1)) for gradient in found)
        return unstacked, (0,) * len(unstacked)


def _need_gradient(tensors: list[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _stack(size: int, tensors: list[Tensor], in_dims: tuple[int | None, ...]) -> list[Tensor]:
    """Fold vmap's axis into the model axis: (V, K, ...) -> (V K, ...)."""
    moved = [
        tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, in_dims, strict=False)
    ]
    return [tensor.flatten(0, 1) for tensor in moved]


def _kernels() -> ModuleType:
    """The Triton side, imported when first used."""
    require("triton", "gpu", "the fused pyramid")
    from adasent.pyramid import fused_kernels

    return fused_kernels


def _interpreted() -> bool:
    """Whether the kernels run in Triton's interpreter, which takes tensors of the CPU."""
    if importlib.util.find_spec("triton") is None:
        return False
    return type(_kernels().forward_kernel).__name__ == "InterpretedFunction"


_empty = torch.empty  # a name of our own: the tests poison what it returns


class _Layout(NamedTuple):
    """Where each sentence is processed and kept; on the device."""

    lengths: Tensor  # (K, B) int32
    order: Tensor  # (K, B) sentences of each model, longest first
    starts: Tensor  # (K B + 1,) int32, first row of each sentence in the ragged buffers
    overflow: Tensor | None  # (K, B), sentences beyond max_cells; None where there can be none
    capacity: int


def _lay_out(lengths: Tensor, n_words: int, max_cells: int | None) -> _Layout:
    lengths = lengths.clamp(0, n_words).to(torch.int32).contiguous()
    capacity = lengths.numel() * n_words * (n_words + 1) // 2
    overflow = None
    if max_cells is not None and max_cells < capacity:
        overflow = _starts(lengths)[1:].view_as(lengths) > max_cells
        lengths = lengths.masked_fill(overflow, 0)
        capacity = max_cells
    if max(capacity, 2 * lengths.numel() * n_words) >= 2**31:
        raise ConfigError(
            f"the fused pyramid counts cells with 32 bits, got {capacity} of them; "
            "pass max_cells, or fewer sentences at a time"
        )
    order = lengths.argsort(dim=1, descending=True, stable=True)
    return _Layout(lengths, order, _starts(lengths).to(torch.int32), overflow, capacity)


def _starts(lengths: Tensor) -> Tensor:
    """Cells before each sentence, and in all: (K B + 1,) int64."""
    starts = torch.zeros(lengths.numel() + 1, dtype=torch.int64, device=lengths.device)
    torch.cumsum((lengths * (lengths + 1) // 2).flatten(), 0, out=starts[1:])
    return starts


def _sizes(size: int, storage: torch.dtype) -> tuple[int, int]:
    """Columns of a buffer's rows (16 bytes at a time) and of a tile (a power of two)."""
    align = 16 // storage.itemsize
    return -(-size // align) * align, max(16, 1 << (size - 1).bit_length())


def _run_forward(
    words: Tensor, lengths: Tensor, weights: tuple[Tensor, ...], options: Options
) -> tuple[Tensor, ...]:
    n_models, n_sentences, n_words, size = words.shape
    width, tile_size = _sizes(size, options.storage)
    layout = _lay_out(lengths, n_words, options.max_cells if options.keep else None)
    tiling = options.tiling or choose_tiling(words, options)
    device = words.device
    levels = torch.zeros(words.shape, device=device)
    if layout.overflow is not None:
        levels.masked_fill_(layout.overflow[..., None, None], float("nan"))
    # Without a backward pass, two levels of each sentence; with one, every cell.
    rows = layout.capacity if options.keep else n_models * n_sentences * 2 * n_words
    units = _empty(rows, width, device=device, dtype=options.storage)
    if options.keep:
        shares = _empty(words.shape if options.maximum else (0,), device=device)
        kept = _empty(rows, width, device=device, dtype=options.storage)
        gates = _empty(3, rows, device=device)
        steps = _empty(rows, device=device, dtype=torch.int32)
    else:
        shares = kept = levels  # not touched
        gates, steps = levels.expand(3, *levels.shape), layout.lengths
    compose_left, compose_right, compose_bias, gate_left, gate_right, gate_bias = weights
    compose = torch.stack([compose_left, compose_right], dim=1)  # (K, 2, D, D)
    gate = torch.stack([gate_left, gate_right], dim=1)  # (K, 2, 3, D)
    _kernels().forward_kernel[(n_models * -(-n_sentences // tiling.group),)](
        words.contiguous(), *layout[:3],
        compose, compose_bias.contiguous(), gate, gate_bias.contiguous(),
        levels, shares, units, kept, *gates, steps, n_models, n_sentences, n_words,
        D=size, WIDTH=width, SIZE=tile_size, GROUP=tiling.group, ROWS=tiling.rows,
        CHUNK=min(tiling.chunk, tile_size), RESIDENT=tiling.resident, PRECISION=options.precision,
        RELU=options.relu, MAX=options.maximum, KEEP=options.keep,
        num_warps=tiling.warps, num_stages=tiling.stages,
    )  # fmt: skip
    if not options.keep:
        return (levels,)
    return levels, shares, units, kept, gates, steps, compose, gate, *layout[:3]


def _run_backward(
    d_levels: Tensor, saved: tuple[Tensor, ...], options: Options
) -> tuple[Tensor, ...]:
    levels, shares, units, kept, gates, steps, compose, gate, lengths, order, starts = saved
    n_models, n_sentences, n_words, size = d_levels.shape
    width, tile_size = _sizes(size, options.storage)
    capacity, device = len(units), units.device
    tiling = options.tiling or choose_tiling(d_levels, options)
    kernels = _kernels()

    d_words = torch.zeros(d_levels.shape, device=device)
    d_units = _empty(n_models * n_sentences * 2 * n_words, width, device=device)
    d_composed = _empty(capacity, width, device=device, dtype=options.storage)
    d_scores = _empty(3, capacity, device=device)
    kernels.backward_kernel[(n_models * -(-n_sentences // tiling.group),)](
        d_levels.contiguous(), lengths, order, starts, compose, gate,
        levels.contiguous(), shares, units, kept, *gates, d_units, d_composed, *d_scores, d_words,
        n_models, n_sentences, n_words,
        D=size, WIDTH=width, SIZE=tile_size, GROUP=tiling.group, ROWS=tiling.rows,
        CHUNK=min(tiling.chunk, tile_size), RESIDENT=tiling.resident, PRECISION=options.precision,
        RELU=options.relu, MAX=options.maximum,
        num_warps=tiling.backward_warps, num_stages=tiling.stages,
    )  # fmt: skip

    shapes = [(size, size), (size, size), (size,), (3, size), (3, size), (3,)]
    counts = [torch.Size(shape).numel() for shape in shapes]
    n_weights = sum(counts)
    partial = _empty(n_models, SPLITS, n_weights, device=device)
    tile = min(tiling.tile, tile_size)
    kernels.weight_kernel[(n_models * SPLITS, 2 * (-(-size // tile)) ** 2)](
        starts, units, steps, d_composed, d_scores, partial, n_sentences, capacity,
        SPLITS=SPLITS, CELLS=tiling.cells, TILE=tile, D=size, WIDTH=width,
        PRECISION=options.precision,
        num_warps=tiling.weight_warps, num_stages=tiling.weight_stages,
    )  # fmt: skip
    d_weights = _empty(n_models, n_weights, device=device)
    kernels.sum_kernel[(-(-n_weights // 1024), n_models)](
        partial, d_weights, n_weights, SPLITS=SPLITS, BLOCK=1024
    )
    parts = torch.split(d_weights, counts, dim=1)
    return d_words, *[
        part.reshape(n_models, *shape) for part, shape in zip(parts, shapes, strict=True)
    ]


def choose_tiling(words: Tensor, options: Options) -> Tiling:
    """Constants for these words, (K, B, T, D), and their device.

    They depend on how many sentences there are in all, so a model's results may differ in rounding
    between a small and a large stack, never between two stacks on the same side of that limit.
    """
    size = _sizes(words.shape[-1], options.storage)[1]
    small = {}
    if options.precision == "ieee" and options.storage == torch.float32:
        small = {"chunk": 16, "cells": 16, "tile": 64}  # no matrix units: operands sit in registers
    warps = 4 if size < 64 else 8 if size < 256 else 16
    return Tiling(
        group=1 if words.shape[0] * words.shape[1] <= FEW_SENTENCES else 4,
        resident=_fits(size, words.device, options),
        warps=warps,
        backward_warps=warps,
        weight_warps=4 if size < 64 else 8,
        stages=1 if size < 256 else 2,
        **small,
    )


def _fits(size: int, device: torch.device, options: Options) -> bool:
    """Whether both weight matrices and a tile fit in shared memory, and products read them there.

    Only Hopper's do: other GPUs would copy them to registers, which are too few.
    """
    if device.type != "cuda" or options.precision != "tf32":
        return device.type != "cuda"
    properties = torch.cuda.get_device_properties(device)
    rows = Tiling(group=1).rows
    needed = options.storage.itemsize * 2 * size * (size + rows) + 4 * rows * size
    limit: int = getattr(properties, "shared_memory_per_block_optin", 0)
    return properties.major == 9 and needed <= limit
