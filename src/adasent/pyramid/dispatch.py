"""Padded words of a batch -> pooled levels, by the fastest implementation that can run here."""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from adasent.pyramid.packed import pyramid_packed
from adasent.pyramid.weights import PyramidWeights, one_by_one


class Choice(NamedTuple):
    """Which implementation runs, and why not a faster one."""

    name: str  # cuda, cpu or packed
    reason: str  # empty for the fastest of a device


def choose(words: Tensor, weights: PyramidWeights) -> Choice:
    """The implementation for tensors of this kind; their values do not matter.

    ``cuda`` and ``cpu`` are matrix products with a compiled pass between, of Triton and of numba;
    ``packed`` is plain torch operations, which run anywhere.
    """
    device = words.device.type
    if device == "cuda":
        from adasent.pyramid.cuda import cuda_unavailable

        reason = cuda_unavailable(words, weights)
        return Choice("packed", reason) if reason else Choice("cuda", "")
    if device != "cpu":
        return Choice("packed", f"no compiled kernels for {device} devices")
    if weights.gate_out is not None:
        return Choice("packed", "the compiled kernels have no MLP gate")
    if words.dtype not in (torch.float32, torch.float64):
        return Choice("packed", f"the compiled kernels have no {words.dtype}")
    if importlib.util.find_spec("numba") is None:
        return Choice("packed", "numba is not installed; pip install numba")
    return Choice("cpu", "")


def pyramid(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    height: int | None = None,
) -> Tensor:
    """Pooled levels of a padded batch; differentiable, and batched over models under ``vmap``.

    Gradients are torch.autograd's, taken outside of ``vmap``: not those of torch.func.

    Parameters
    ----------
    words
        (B, T, D) first level h^1; what lies beyond a sentence's length is never read.
    lengths
        (B,) words of each sentence, at least 1 and at most T; on the device of the words, or on the
        CPU. From there, in ascending order and without a gradient, CUDA computes no padding.
    height
        Levels of a pyramid at most; None for as many as words.

    Returns
    -------
    (B, L, D), L being T or the height if that is less: row t - 1 is level t pooled; zeros above a
    sentence's top level.
    """
    name = choose(words, weights).name
    options: dict[str, Any] = {"activation": activation, "pooling": pooling, "height": height}
    if name == "cuda":
        from adasent.pyramid.cuda import pyramid_cuda

        return pyramid_cuda(words, lengths, weights, **options)
    if name == "cpu":
        from adasent.pyramid.cpu import pyramid_cpu

        return pyramid_cpu(words, lengths, weights, **options)
    levels: Tensor = _Portable.apply(_Graph(options), lengths, words, *weights)  # type: ignore[no-untyped-call]
    return levels


class _Graph:
    """The recorded forward pass of one call."""

    inputs: list[Tensor]
    levels: Tensor

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


class _Portable(torch.autograd.Function):
    """``pyramid_packed`` as one operation, so that it has a rule for ``vmap``."""

    @staticmethod
    def forward(
        graph: _Graph,
        lengths: Tensor,
        words: Tensor,
        *weights: Tensor | None,
    ) -> Tensor:
        with torch.enable_grad():
            own = [None if x is None else x.detach().requires_grad_() for x in (words, *weights)]
            graph.inputs = [x for x in own if x is not None]
            packed = pack_padded_sequence(
                graph.inputs[0], lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            built = pyramid_packed(
                packed,
                PyramidWeights(*own[1:]),  # type: ignore[arg-type]
                **graph.options,
            )
            n_levels = min(words.shape[1], graph.options["height"] or words.shape[1])
            graph.levels, _ = pad_packed_sequence(
                built.levels, batch_first=True, total_length=n_levels
            )
        return graph.levels.detach()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.graph = inputs[0]
        ctx.given = [x is not None for x in inputs[2:]]

    @staticmethod
    def backward(ctx: Any, d_levels: Tensor) -> tuple[Tensor | None, ...]:
        graph: _Graph = ctx.graph
        found = iter(
            torch.autograd.grad(
                graph.levels, graph.inputs, d_levels, retain_graph=True, allow_unused=True
            )
        )
        return None, None, *[next(found) if given else None for given in ctx.given]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return one_by_one(
            _Portable,
            info.batch_size,
            in_dims,
            inputs,
            fresh={0: lambda: _Graph(inputs[0].options)},
        )
