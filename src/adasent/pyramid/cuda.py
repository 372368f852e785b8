"""The pyramid on CUDA: a batched matrix product a level, the rest one Triton kernel, its gradient.

All sentences of a batch and all models of a stack go up together. Matrix products are torch's, over
the padded units of a level, at the precision that torch is set to; ``cuda_kernels`` does the rest.
At "medium" products, and what the backward pass needs of a cell, are stored in bfloat16, half of
the memory that a level waits for; units, their gradients and sums of any kind stay float32. Nothing
is read by the host, so a step can be captured in a CUDA graph. The backward pass goes down the
levels as on the CPU (``README.md`` derives it). Without one, and where the host has the lengths in
ascending order, units are packed and nothing is multiplied for padding.
"""

from __future__ import annotations

import importlib.util
import itertools
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.torch_version import TorchVersion

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
    factors: Tensor  # (K, rows, F), the units as products read them, or the units
    kept: Tensor  # (K, rows of the levels above the first, D), see ``_slope``
    gates: Tensor  # likewise (K, ..., 2 N), of the left and the right child
    matrices: Tensor  # (K, W, F), as products read them
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
        *_, ctx.how, ctx.tape = inputs

    @staticmethod
    def backward(ctx: Any, d_levels: Tensor) -> tuple[Tensor | None, ...]:
        stacked = d_levels.dim() == 4
        with torch.no_grad(), torch.cuda.device_of(d_levels):  # type: ignore[no-untyped-call]
            found = _descend(d_levels if stacked else d_levels[None], ctx.how, ctx.tape)
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
    to: dict[str, Any] = {"dtype": words.dtype, "device": words.device}
    tile = _Tile(size, (matrices.shape[1] - 2 * size) // 4)
    n_levels = min(n_words, how.height or n_words)
    packed = None if n_models > 1 or how.keep else _packed(lengths[0], n_levels)
    lengths = lengths.to(words.device, non_blocking=words.is_cuda)
    tape.lengths, tape.n_words = lengths.contiguous(), n_words
    # Packed, nothing is written for a sentence above its top level.
    pooled = (torch.zeros if packed else _empty)(n_models, n_sentences, n_levels, size, **to)
    tape.pooled = pooled.detach()  # another tensor than the one that will know its origin
    tape.ties = _empty(*pooled.shape, **to) if how.maximum else tape.pooled
    there = [n_sentences] * n_levels
    counts = [n_sentences * (n_words - level) for level in range(n_levels)]
    before = tape.lengths  # not read
    if packed:
        there, counts = packed
        before = counts[0] - tape.lengths.cumsum(dim=1)  # words of the longer sentences
    tape.starts = list(itertools.accumulate(counts, initial=0))
    # Without a backward pass, every level is written over the one before the last.
    n_rows = tape.starts[-1] if how.keep else 2 * counts[0]
    starts = tape.starts if how.keep else [level % 2 * counts[0] for level in range(n_levels)]
    tape.units = _empty(n_models, n_rows, size, **to)
    stored = _Stored(words)
    tape.factors = stored.matrix(n_models, n_rows, size) if stored.rounded else tape.units
    n_cells = n_rows - counts[0] if how.keep else 0
    tape.kept = _empty(n_models, n_cells, size, **stored.to)
    tape.gates = _empty(n_models, n_cells, 2 * tile.n, **stored.to)
    tape.matrices = stored.copy(matrices.detach())
    bias, turned = bias.contiguous(), tape.matrices.transpose(1, 2)
    product = _empty(n_models, counts[0] if n_levels > 1 else 0, turned.shape[2], **stored.to)
    kernel = _kernels().forward_kernel
    constants = {
        **tile.constants(product, tape.factors), "ROUNDED": stored.rounded, "SEGMENT": SEGMENT,
        "RELU": how.relu, "MAX": how.maximum, "KEEP": how.keep, "PACKED": packed is not None,
    }  # fmt: skip
    below, below_start = words.contiguous(), 0
    for level, (start, n_there) in enumerate(zip(starts, there, strict=False)):
        if not n_there:
            break
        if level:
            n_below = counts[level] + n_there  # a sentence has one more unit on the level below
            factors = tape.factors[:, below_start : below_start + n_below]
            torch.bmm(factors, turned, out=product[:, :n_below])
        n_segments = -(-(n_words - level) // SEGMENT)
        cut = n_segments > 1
        parts, ties, pooled_rows = tape.pooled, tape.ties, n_levels
        if cut:
            parts, ties = (_empty(n_models, n_sentences, n_segments, size, **to) for _ in range(2))
            pooled_rows = n_segments
        kernel[(n_models * n_there, n_segments)](
            below, product, bias, tape.lengths, before,
            tape.units, tape.factors, tape.kept, tape.gates, parts, ties,
            n_sentences, n_words, level, below_start, start, n_rows, pooled_rows,
            CUT=cut, FIRST=level == 0, **constants,
        )  # fmt: skip
        if cut:
            reached = slice(n_sentences - n_there, None)
            _pool_segments(parts, ties, level, reached, how, tape)
        below, below_start = tape.units, start
    return pooled


def _packed(lengths: Tensor, n_levels: int) -> tuple[list[int], list[int]] | None:
    """Sentences that reach each level, and their units; None where units cannot be packed.

    They can if the host has the lengths (B,), in ascending order. The longest sentence then comes
    first: wherever a sentence has units, so have all before it, and those of a level are together.
    """
    if lengths.device.type != "cpu" or bool((lengths[1:] < lengths[:-1]).any()):
        return None
    levels = torch.arange(n_levels, dtype=lengths.dtype)
    n_there = len(lengths) - torch.searchsorted(lengths, levels, right=True)
    # Words of the longest sentence, of the two longest, ...
    n_words = torch.cat([lengths.new_zeros(1), lengths.flip(0).cumsum(0)])
    return n_there.tolist(), (n_words[n_there] - levels * n_there).tolist()


def _pool_segments(
    parts: Tensor, ties: Tensor, level: int, reached: slice, how: How, tape: _Tape
) -> None:
    """What the segments (K, B, n, D) of a level have in all, of the sentences that reach it."""
    parts, ties, lengths = parts[:, reached], ties[:, reached], tape.lengths[:, reached]
    pooled = tape.pooled[:, reached, level]
    if not how.maximum:
        torch.sum(parts, dim=2, out=pooled)
        return
    highest = parts.amax(dim=2)
    pooled.copy_(highest.masked_fill((lengths <= level)[..., None], 0.0))
    is_highest = parts == highest[:, :, None]
    tape.ties[:, reached, level] = torch.where(is_highest, ties, 0.0).sum(dim=2)


def _descend(d_levels: Tensor, how: How, tape: _Tape) -> tuple[Tensor, ...]:
    """Gradients by words (K, B, T, D), matrices and bias from that at the pooled levels."""
    n_models, n_sentences, n_levels, size = d_levels.shape
    to: dict[str, Any] = {"dtype": d_levels.dtype, "device": d_levels.device}
    tile = _Tile(size, tape.gates.shape[2] // 2)
    width = 2 * size + 4 * tile.n
    n_rows = tape.units.shape[1]
    n_multiplied = tape.starts[-2]  # all units but those of the top level
    d_levels = d_levels.contiguous()
    most = -(-tape.n_words // SEGMENT)
    d_bias = torch.zeros(n_models, n_sentences * most, size + 2 * tile.n, **to)
    # The gradient at the product, of so many levels at a time as there is room for.
    n_together = max(tape.starts[1], MOST_NUMBERS // (n_models * width))
    n_held = min(n_together, n_multiplied)
    d_product = _Stored(tape.factors).matrix(n_models, n_held, width)
    d_matrices = torch.zeros(tape.matrices.shape, **to)
    kernel = _kernels().backward_kernel
    constants = {
        **tile.constants(d_product, d_matrices),
        **{"SEGMENT": SEGMENT, "RELU": how.relu, "MAX": how.maximum},
    }
    d_units, end = d_product, n_multiplied
    for level in range(n_levels - 1, -1, -1):
        top = level == n_levels - 1
        first, last = tape.starts[level], tape.starts[level + 1]
        if not top and end - first > n_held:
            _add_weights(d_matrices, d_product, tape.factors[:, last:end])
            end = last
        start = first + n_held - end  # of the level in the gradient at the product
        d_below = _empty(n_models, last - first, d_matrices.shape[2], **to)
        kernel[(n_models * n_sentences, -(-(tape.n_words - level) // SEGMENT))](
            tape.units, tape.kept, tape.gates, d_units, tape.pooled, tape.ties, d_levels,
            tape.lengths, d_below, d_product, d_bias,
            n_sentences, tape.n_words, n_levels, level, first, start, n_rows, n_held,
            TOP=top, **constants,
        )  # fmt: skip
        if not top:
            _add_product(d_below, d_product[:, start : start + last - first], tape.matrices)
        d_units = d_below
    if n_multiplied:
        _add_weights(d_matrices, d_product, tape.factors[:, :end])
    d_words = d_units.view(n_models, n_sentences, tape.n_words, -1)[..., :size]
    return d_words, d_matrices[:, :width, :size], d_bias.sum(dim=1)


def _add_weights(d_matrices: Tensor, d_product: Tensor, factors: Tensor) -> None:
    """What the last rows of the gradient at the product, those of these units, add."""
    rows = d_product[:, d_product.shape[1] - factors.shape[1] :]
    _add_product(d_matrices, rows.transpose(1, 2), factors)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add the product of stored matrices, at the precision of the total."""
    if left.dtype == total.dtype:
        total.baddbmm_(left, right)
    elif left.is_cuda:
        torch.baddbmm(total, left, right, out_dtype=total.dtype, out=total)
    else:  # in the interpreter
        total.baddbmm_(left.to(total.dtype), right.to(total.dtype))


class _Stored:
    """How matrices that products read and write are stored.

    Rounded ones are filled up with zeros to multiples of 8 columns, and weights of 8 rows: matrix
    units read 16 bytes at a time.
    """

    def __init__(self, like: Tensor) -> None:
        self.rounded = like.dtype == torch.bfloat16 or _rounds(like)
        self.to: dict[str, Any] = {
            "dtype": torch.bfloat16 if self.rounded else like.dtype,
            "device": like.device,
        }

    def matrix(self, *shape: int) -> Tensor:
        """To be written; the kernels fill it up as they write its rows."""
        return _empty(*shape[:-1], self._filled(shape[-1]), **self.to)

    def copy(self, weights: Tensor) -> Tensor:
        """(K, rows, columns) as products read them."""
        if not self.rounded:
            return weights
        n_models, *shape = weights.shape
        filled = torch.zeros(n_models, *map(self._filled, shape), **self.to)
        filled[:, : shape[0], : shape[1]] = weights
        return filled

    def _filled(self, n: int) -> int:
        return -(-n // 8) * 8 if self.rounded else n


def _rounds(words: Tensor) -> bool:
    """Whether products may be of bfloat16, and torch and the device have them."""
    if words.dtype != torch.float32 or torch.get_float32_matmul_precision() != "medium":
        return False
    if not words.is_cuda:
        return True
    return TorchVersion(torch.__version__) >= "2.8" and torch.cuda.get_device_capability(
        words.device
    ) >= (8, 0)


class _Tile:
    """The tile of a unit: Q rows for the dimensions of a group, P columns for the groups."""

    def __init__(self, size: int, n_groups: int) -> None:
        self.n = n_groups
        self.q, self.p = (1 << (n - 1).bit_length() for n in (size // n_groups, n_groups))
        self.size, self.warps = size, max(1, min(8, self.q * self.p // 128))

    def constants(self, products: Tensor, factors: Tensor) -> dict[str, int]:
        """What the kernels are told, with the rows that products are of and that they read."""
        sizes = {"D": self.size, "N": self.n, "Q": self.q, "P": self.p, "num_warps": self.warps}
        return sizes | {"W": products.shape[-1], "F": factors.shape[-1]}


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
