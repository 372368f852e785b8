"""The pyramid on the CPU: one matrix product a level, the rest one compiled pass, real units only.

The backward pass is back propagation through structure as ``README.md`` derives it, written by
hand: from the top down, the gradient at a level is complete before it is passed on. It needs the
units, the compositions and the gates of all levels, which the forward pass keeps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from adasent.pyramid.compiled_backward import level_backward, pool_backward_strip
from adasent.pyramid.compiled_forward import level_forward, pool_strip
from adasent.pyramid.layout import Layout
from adasent.pyramid.weights import How, PyramidWeights, differentiable, one_by_one

#: A level of fewer numbers is not worth waking a second thread for.
_MIN_NUMBERS_FOR_THREADS = 20_000

#: Batches of more words than the first, padding counted, are worked on in parts of as many as the
#: second: a level of theirs is found in the cache again by the next pass over it.
_LARGE_BATCH, _PART = 8_000, 3_200


def pyramid_cpu(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    height: int | None = None,
) -> Tensor:
    """Same contract as :func:`adasent.pyramid.dispatch.pyramid`, for the softmax gate."""
    inputs = (words, *weights.relative())
    how = How.of(activation, pooling, height, inputs)
    n_texts, longest = words.shape[:2]
    size = n_texts if n_texts * longest <= _LARGE_BATCH else max(1, _PART // longest)
    parts = [
        _PyramidOnCpu.apply(*part, *inputs[1:], how, _Tape())  # type: ignore[no-untyped-call]
        for part in zip(torch.split(lengths, size), torch.split(words, size), strict=True)
    ]
    levels: Tensor = torch.cat(parts) if len(parts) > 1 else parts[0]
    return levels


class _Level(NamedTuple):
    """Everything the backward pass asks of a level above the first."""

    units: Tensor  # (units, D)
    composed: Tensor | None  # (units, D), if kept
    gates: Tensor | None  # (units, 3 N), if kept


class _Tape:
    """What the forward pass leaves for the backward pass."""

    layout: Layout
    places: tuple[Tensor, Tensor]  # of each word, its place in a padded (B, T) array
    words: Tensor  # (words, D) the first level
    pooled: Tensor  # (rows, D) all levels pooled
    levels: list[_Level]  # the second level and up, if kept

    @property
    def pooled_places(self) -> tuple[Tensor, Tensor]:
        """Of each pooled level, its place in a padded (B, L) array."""
        text, position = self.places
        return text[: len(self.pooled)], position[: len(self.pooled)]


class _PyramidOnCpu(torch.autograd.Function):
    @staticmethod
    def forward(
        lengths: Tensor,
        words: Tensor,
        matrices: Tensor,
        bias: Tensor,
        how: How,
        tape: _Tape,
    ) -> Tensor:
        n_words = lengths.numpy()
        order = np.argsort(-n_words, kind="stable")
        layout = tape.layout = Layout(n_words[order], how.height)
        tape.places = torch.from_numpy(order[layout.text]), torch.from_numpy(layout.position)
        tape.words = words[tape.places]
        tape.pooled = torch.empty_like(tape.words[: layout.n_pooled])
        tape.levels = []
        first = tape.pooled[layout.pooled(0)].numpy()
        pool_strip(tape.words.numpy(), layout.counts, first, how.maximum or None, 0, 1)
        climber = _Climber(layout, matrices, bias, how)
        units = tape.words
        for t in range(1, layout.n_levels):
            level = climber.step(units, t, tape.pooled[layout.pooled(t)])
            if how.keep:
                tape.levels.append(level)
            units = level.units
        n_levels = min(words.shape[1], how.height or words.shape[1])
        levels = words.new_zeros(len(words), n_levels, words.shape[2])
        levels[tape.pooled_places] = tape.pooled
        return levels

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, words, matrices, _, ctx.how, ctx.tape = inputs
        ctx.save_for_backward(matrices)
        ctx.shape = words.shape

    @staticmethod
    def backward(ctx: Any, d_levels: Tensor) -> tuple[Tensor | None, ...]:
        tape: _Tape = ctx.tape
        (matrices,) = ctx.saved_tensors
        descent = _Descent(matrices, ctx.how, tape, d_levels[tape.pooled_places])
        d_words = d_levels.new_zeros(ctx.shape)
        d_words[tape.places] = descent.run()
        return None, d_words, descent.d_matrices, descent.d_bias.sum(dim=0), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One model after the other: stacking pays on a GPU, and is only correct here."""
        how = replace(inputs[4], keep=differentiable(inputs[1:4]))
        inputs = (*inputs[:4], how, inputs[5])
        return one_by_one(_PyramidOnCpu, info.batch_size, in_dims, inputs, fresh={5: _Tape})


class _Climber:
    """Builds a level from the one below."""

    def __init__(self, layout: Layout, matrices: Tensor, bias: Tensor, how: How) -> None:
        self.layout, self.matrices, self.how = layout, matrices.detach(), how
        self.bias = bias.detach().numpy()
        self.product = matrices.new_empty(layout.n_words, len(matrices))

    def step(self, below: Tensor, t: int, pooled: Tensor) -> _Level:
        """Level t, counted from 0, from the level below; fills ``pooled`` (texts, D)."""
        n_units, size = self.layout.n_units_on(t), below.shape[1]
        product = torch.mm(below, self.matrices.T, out=self.product[: len(below)])
        units = below.new_empty(n_units, size)
        composed = below.new_empty(n_units, size) if self.how.keep else None
        n_gates = (len(self.bias) - size) // 2 * 3
        gates = below.new_empty(n_units, n_gates) if self.how.keep else None
        level_forward(
            below.numpy(),
            product.numpy(),
            self.bias[:size],
            self.bias[size:],
            self.layout.counts[t - 1 :],
            units.numpy(),
            pooled.numpy(),
            None if composed is None else composed.numpy(),
            None if gates is None else gates.numpy(),
            relu=self.how.relu,
            maximum=self.how.maximum,
            n_strips=n_strips(units.numel()),
        )
        return _Level(units, composed, gates)


class _Descent:
    """Carries the gradient from the top level to the words."""

    def __init__(self, matrices: Tensor, how: How, tape: _Tape, d_pooled: Tensor) -> None:
        self.matrices, self.how, self.tape, self.d_pooled = matrices, how, tape, d_pooled
        self.d_matrices = torch.zeros_like(matrices)
        words, size = tape.words, tape.words.shape[1]
        n_biases = size + (len(matrices) - 2 * size) // 2
        self.d_bias = words.new_zeros(torch.get_num_threads(), n_biases)
        self.d_product = words.new_empty(len(words), len(matrices))
        self.d_units = words.new_empty(2, *words.shape)  # of a level and of the one below
        self.ties = np.empty_like(d_pooled[tape.layout.pooled(0)].numpy())

    def run(self) -> Tensor:
        """(rows, D) gradient at the words; leaves those at the weights beside it."""
        levels, words = self.tape.levels, self.tape.words
        gradient = self._at_top(levels[-1].units if levels else words)
        for t in range(len(levels), 0, -1):
            below = levels[t - 2].units if t > 1 else words
            gradient = self._down(below, levels[t - 1], t, gradient)
        return gradient

    def _at_top(self, units: Tensor) -> Tensor:
        """Gradient at the units of the top level: only its own pooling counts."""
        layout = self.tape.layout
        top = layout.pooled(layout.n_levels - 1)
        gradient = self.d_units[(layout.n_levels - 1) % 2, : len(units)]
        pooled, d_pooled = self.tape.pooled[top].numpy(), self.d_pooled[top].numpy()
        pool_backward_strip(
            units.numpy(), layout.counts[layout.n_levels - 1 :], pooled, d_pooled,
            self.how.maximum or None, self.ties, gradient.numpy(), 0, 1,
        )  # fmt: skip
        return gradient

    def _down(self, below: Tensor, level: _Level, t: int, gradient: Tensor) -> Tensor:
        """Gradient at the level below from that at level t; adds to those at the weights."""
        assert level.composed is not None
        assert level.gates is not None
        pooled = self.tape.layout.pooled(t - 1)
        d_below = self.d_units[(t - 1) % 2, : len(below)]
        d_product = self.d_product[: len(below)]
        level_backward(
            below.numpy(),
            self.tape.pooled[pooled].numpy(),
            self.d_pooled[pooled].numpy(),
            self.ties,
            level.composed.numpy(),
            level.gates.numpy(),
            self.tape.layout.counts[t - 1 :],
            gradient.numpy(),
            d_below.numpy(),
            d_product.numpy(),
            self.d_bias.numpy(),
            relu=self.how.relu,
            maximum=self.how.maximum,
            n_strips=n_strips(below.numel()),
        )
        self.d_matrices.addmm_(d_product.T, below)
        return d_below.addmm_(d_product, self.matrices)


def n_strips(n_numbers: int) -> int:
    """Threads for a level of so many numbers."""
    return torch.get_num_threads() if n_numbers >= _MIN_NUMBERS_FOR_THREADS else 1
