"""The pyramid on the CPU: one matrix product a level, the rest one compiled pass, real cells only.

The backward pass is back propagation through structure as ``README.md`` derives it, written by
hand: from the top down, the gradient at a level is complete before it is passed on. It needs the
units, the compositions and the gates of all cells. They are kept from the forward pass; or, with
``recompute``, at most ``SNAPSHOTS`` levels are held at a time, O(T D) a sentence, and the others
are built again from the nearest one below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from adasent.pyramid.cells import level_backward, level_forward, pool, pool_backward
from adasent.pyramid.stacking import one_by_one
from adasent.pyramid.weights import PyramidWeights

#: Levels held at a time when the backward pass recomputes the others.
SNAPSHOTS = 8
#: A level of fewer numbers is not worth waking a second thread for.
_WORTH_A_THREAD = 20_000


def pyramid_cpu(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    recompute: bool = False,
) -> Tensor:
    """Same contract as :func:`adasent.pyramid.dispatch.pyramid`, for the softmax gate.

    Parameters
    ----------
    recompute
        Trade time for memory in the backward pass.
    """
    matrices = torch.cat(  # (2 D + 6, D)
        [weights.compose_left, weights.compose_right, weights.gate_left, weights.gate_right]
    )
    inputs = (words, matrices, weights.compose_bias, weights.gate_bias)
    how = _How(activation == "relu", pooling == "max", recompute, _differentiable(inputs))
    levels: Tensor = _PyramidOnCpu.apply(lengths, *inputs, how, _Tape())  # type: ignore[no-untyped-call]
    return levels


@dataclass(frozen=True)
class _How:
    relu: bool
    maximum: bool
    recompute: bool
    differentiable: bool

    @property
    def keep(self) -> bool:
        """Whether every cell of the forward pass is kept for the backward pass."""
        return self.differentiable and not self.recompute


def _differentiable(inputs: Sequence[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)


class _Layout:
    """Where rows lie: sentences longest first, a block of rows for each position."""

    def __init__(self, lengths: Tensor) -> None:
        words = lengths.numpy()
        order = np.argsort(-words, kind="stable")
        n_levels = int(words[order[0]])
        #: Sentences longer than k words.
        self.counts = np.searchsorted(-words[order], -np.arange(n_levels), side="left")
        self.first = np.concatenate([[0], np.cumsum(self.counts)])  # rows before position k
        position = np.repeat(np.arange(n_levels), self.counts)
        sentence = order[np.arange(self.first[-1]) - self.first[position]]
        #: Of each row, its place in a padded (B, T) array.
        self.places = torch.from_numpy(sentence), torch.from_numpy(position)

    @property
    def n_levels(self) -> int:
        return len(self.counts)

    def n_cells(self, t: int) -> int:
        """Units on level t."""
        return int(self.first[-1] - self.first[t - 1])

    def pooled(self, t: int) -> slice:
        """Rows of level t among all pooled levels, which pack as words do."""
        return slice(int(self.first[t - 1]), int(self.first[t]))


class _Level(NamedTuple):
    """Everything the backward pass asks of a level t >= 2."""

    units: Tensor  # (cells, D)
    composed: Tensor | None  # (cells, D), if kept
    gates: Tensor | None  # (cells, 3), if kept


class _Tape:
    """What the forward pass leaves for the backward pass."""

    layout: _Layout
    words: Tensor  # (rows, D) level 1
    pooled: Tensor  # (rows, D) all levels pooled
    levels: list[_Level]  # levels 2 and up, if kept


class _PyramidOnCpu(torch.autograd.Function):
    @staticmethod
    def forward(
        lengths: Tensor,
        words: Tensor,
        matrices: Tensor,
        compose_bias: Tensor,
        gate_bias: Tensor,
        how: _How,
        tape: _Tape,
    ) -> Tensor:
        layout = tape.layout = _Layout(lengths)
        tape.words = words[layout.places]
        tape.pooled = torch.empty_like(tape.words)
        tape.levels = []
        climber = _Climber(layout, matrices, compose_bias, gate_bias, how)
        pool(
            tape.words.numpy(),
            layout.counts,
            tape.pooled[layout.pooled(1)].numpy(),
            maximum=how.maximum,
        )
        units = tape.words
        for t in range(2, layout.n_levels + 1):
            level = climber.step(units, t, tape.pooled[layout.pooled(t)], keep=how.keep)
            if how.keep:
                tape.levels.append(level)
            units = level.units
        levels = words.new_zeros(words.shape)
        levels[layout.places] = tape.pooled
        return levels

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, words, matrices, compose_bias, gate_bias, ctx.how, ctx.tape = inputs
        ctx.save_for_backward(matrices, compose_bias, gate_bias)
        ctx.shape = words.shape

    @staticmethod
    def backward(ctx: Any, d_levels: Tensor) -> tuple[Tensor | None, ...]:
        tape: _Tape = ctx.tape
        matrices, compose_bias, gate_bias = ctx.saved_tensors
        climber = _Climber(tape.layout, matrices, compose_bias, gate_bias, ctx.how)
        descent = _Descent(climber, tape, d_levels[tape.layout.places])
        d_words = d_levels.new_zeros(ctx.shape)
        d_words[tape.layout.places] = descent.run()
        size = d_words.shape[-1]
        d_bias = descent.d_bias.sum(dim=0)
        return None, d_words, descent.d_matrices, d_bias[:size], d_bias[size:], None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        """One model after the other: stacking pays on a GPU, and is only correct here."""
        # Seen from inside of vmap, no tensor says that it needs a gradient.
        how = replace(inputs[5], differentiable=_differentiable(inputs[1:5]))
        inputs = (*inputs[:5], how, inputs[6])
        return one_by_one(_PyramidOnCpu, info.batch_size, in_dims, inputs, fresh={6: _Tape})


class _Climber:
    """Builds a level from the one below."""

    def __init__(
        self,
        layout: _Layout,
        matrices: Tensor,
        compose_bias: Tensor,
        gate_bias: Tensor,
        how: _How,
    ) -> None:
        self.layout, self.matrices, self.how = layout, matrices.detach(), how
        self.compose_bias = compose_bias.detach().numpy()
        self.gate_bias = gate_bias.detach().numpy()
        size = len(compose_bias)
        self.product = matrices.new_empty(layout.n_cells(1), 2 * size + 6)

    def step(self, below: Tensor, t: int, pooled: Tensor, *, keep: bool) -> _Level:
        """Level t from level t - 1; fills ``pooled`` (sentences, D)."""
        cells, size = self.layout.n_cells(t), below.shape[1]
        product = torch.mm(below, self.matrices.T, out=self.product[: len(below)])
        units = below.new_empty(cells, size)
        # Asked for even where it is not kept: compiled without it, the pass may round otherwise,
        # and a recomputed unit must be equal to the maximum that it once was.
        composed = below.new_empty(cells, size) if self.how.differentiable else None
        gates = below.new_empty(cells, 3) if keep else None
        level_forward(
            below.numpy(),
            product.numpy(),
            self.compose_bias,
            self.gate_bias,
            self.layout.counts[t - 2 :],
            units.numpy(),
            pooled.numpy(),
            None if composed is None else composed.numpy(),
            None if gates is None else gates.numpy(),
            relu=self.how.relu,
            maximum=self.how.maximum,
            n_strips=n_strips(units.numel()),
        )
        return _Level(units, composed if keep else None, gates)


class _Descent:
    """Carries the gradient from the top level to the words."""

    def __init__(self, climber: _Climber, tape: _Tape, d_pooled: Tensor) -> None:
        self.climber, self.tape, self.d_pooled = climber, tape, d_pooled
        self.d_matrices = torch.zeros_like(climber.matrices)
        size = d_pooled.shape[1]
        self.d_bias = d_pooled.new_zeros(torch.get_num_threads(), size + 3)
        self.d_product = torch.empty_like(climber.product)
        self.ties = np.empty_like(d_pooled[: int(climber.layout.counts[0])].numpy())

    def run(self) -> Tensor:
        """(rows, D) gradient at the words; leaves those at the weights beside it."""
        layout, tape = self.climber.layout, self.tape
        top = layout.n_levels
        if tape.levels or top == 1:
            units = tape.levels[-1].units if tape.levels else tape.words
            gradient = self._at_top(units)
            for t in range(top, 1, -1):
                below = tape.levels[t - 3].units if t > 2 else tape.words
                gradient = self._down(below, tape.levels[t - 2], t, gradient)
                tape.levels.pop()  # its memory serves the next level
            return gradient
        return self._recompute(tape.words, 1, top, None, SNAPSHOTS)

    def _recompute(
        self, units: Tensor, low: int, high: int, gradient: Tensor | None, snapshots: int
    ) -> Tensor:
        """Gradient at level ``low``, whose units are given, from that at level ``high``.

        Binomial checkpointing: with s snapshots, any stretch of C(s + r, s) levels is passed with
        no level built more than r times.
        """
        while high - low > 1:
            middle = low + _advance(high - low, snapshots)
            gradient = self._recompute(
                self._climb(units, low, middle), middle, high, gradient, snapshots - 1
            )
            high = middle
        pooled = self.tape.pooled[self.climber.layout.pooled(high)]
        level = self.climber.step(units, high, torch.empty_like(pooled), keep=True)
        if gradient is None:
            gradient = self._at_top(level.units)
        return self._down(units, level, high, gradient)

    def _climb(self, units: Tensor, low: int, high: int) -> Tensor:
        for t in range(low + 1, high + 1):
            pooled = torch.empty_like(self.tape.pooled[self.climber.layout.pooled(t)])
            units = self.climber.step(units, t, pooled, keep=False).units
        return units

    def _at_top(self, units: Tensor) -> Tensor:
        """Gradient at the units of the top level: only its own pooling counts."""
        layout = self.climber.layout
        top = layout.pooled(layout.n_levels)
        gradient = torch.empty_like(units)
        pool_backward(
            units.numpy(),
            layout.counts[-1:],
            self.tape.pooled[top].numpy(),
            self.d_pooled[top].numpy(),
            self.ties,
            gradient.numpy(),
            maximum=self.climber.how.maximum,
        )
        return gradient

    def _down(self, below: Tensor, level: _Level, t: int, gradient: Tensor) -> Tensor:
        """Gradient at level t - 1 from that at level t; adds to those at the weights."""
        assert level.composed is not None
        assert level.gates is not None
        climber = self.climber
        pooled = climber.layout.pooled(t - 1)
        d_below = torch.empty_like(below)
        d_product = self.d_product[: len(below)]
        level_backward(
            below.numpy(),
            self.tape.pooled[pooled].numpy(),
            self.d_pooled[pooled].numpy(),
            self.ties,
            level.composed.numpy(),
            level.gates.numpy(),
            climber.layout.counts[t - 2 :],
            gradient.numpy(),
            d_below.numpy(),
            d_product.numpy(),
            self.d_bias.numpy(),
            relu=climber.how.relu,
            maximum=climber.how.maximum,
            n_strips=n_strips(below.numel()),
        )
        self.d_matrices.addmm_(d_product.T, below)
        return d_below.addmm_(d_product, climber.matrices)


def n_strips(numbers: int) -> int:
    """Threads for a level of so many numbers."""
    return torch.get_num_threads() if numbers >= _WORTH_A_THREAD else 1


def _advance(levels: int, snapshots: int) -> int:
    """How far above the level at hand to place the next snapshot."""
    if snapshots == 0:
        return levels - 1
    repeats = 1
    while comb(snapshots + repeats, snapshots) < levels:
        repeats += 1
    return min(comb(snapshots + repeats - 1, snapshots), levels - 1)
