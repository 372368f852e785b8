"""What every pyramid implementation takes and gives: its weights, and the pooled levels.

Knows tensors only: no words, no files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from adasent.errors import ConfigError
from adasent.pyramid import RELU_CAP


def capped_relu(values: Tensor) -> Tensor:
    """min(max(x, 0), 10,000)."""
    return values.clamp(0.0, RELU_CAP)


#: f of the paper's composition, by name.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": capped_relu}

POOLINGS = ("mean", "max")


class PyramidWeights(NamedTuple):
    """Weights shared by all cells of all pyramids.

    The dimensions of a unit are in N groups, each with gates of its own: dimension d is of group
    d mod N. The paper has one group. Row k N + n of the gates is share k (left, right, composed)
    of group n. H is 3 N, or the hidden size of an MLP gate.
    """

    compose_left: Tensor  # W_L  (D, D)
    compose_right: Tensor  # W_R  (D, D)
    compose_bias: Tensor  # b_W  (D,)
    gate_left: Tensor  # G_L  (H, D)
    gate_right: Tensor  # G_R  (H, D)
    gate_bias: Tensor  # b_G  (H,)
    gate_out: Tensor | None = None  # (3 N, H), MLP gate only
    gate_out_bias: Tensor | None = None  # (3 N,), MLP gate only

    @property
    def n_groups(self) -> int:
        """N."""
        scores = self.gate_bias if self.gate_out_bias is None else self.gate_out_bias
        return scores.shape[-1] // 3

    def relative(self) -> tuple[Tensor, Tensor]:
        """Matrices (2 D + 4 N, D) and biases (D + 2 N,) for one product a cell, softmax gate only.

        Rows of W_L, W_R, then what G_L and G_R score the left and the right child's share above
        the composed one: a softmax depends on differences only.
        """
        # Few kernels, also backward: one puts together what was split, five what was sliced.
        gates = torch.cat([self.gate_left, self.gate_right]).view(2, 3, self.n_groups, -1)
        copies, composed = torch.split(gates, [2, 1], dim=1)
        own = (copies - composed).flatten(0, 2)
        copies, composed = torch.split(self.gate_bias.view(3, -1), [2, 1])
        bias = (copies - composed).flatten()
        matrices = torch.cat([self.compose_left, self.compose_right, own])
        return matrices, torch.cat([self.compose_bias, bias])


@dataclass(frozen=True)
class How:
    """What an implementation with a backward pass of its own is told beside its tensors."""

    relu: bool
    maximum: bool
    height: int | None
    keep: bool  # whether a backward pass may follow

    @classmethod
    def of(cls, activation: str, pooling: str, height: int | None, inputs: Sequence[Tensor]) -> How:
        """From the names of the options."""
        for name, value, known in (
            ("activation", activation, tuple(ACTIVATIONS)),
            ("pooling", pooling, POOLINGS),
        ):
            if value not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        return cls(activation == "relu", pooling == "max", height, differentiable(inputs))


def differentiable(inputs: Sequence[Tensor]) -> bool:
    """Whether a gradient may be asked for; inside of ``vmap`` no tensor says so."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)


class Pyramid(NamedTuple):
    """Result of building a batch of pyramids.

    All three share the position-major layout of ``PackedSequence``: rows sorted by length,
    longest first. A sentence of T words has T levels, or as many as the height, so pooled levels
    pack as words do. Units and gates are None when they were not kept.
    """

    levels: PackedSequence  # pooled, one row for each level of each sentence
    units: list[Tensor] | None = None  # of each level t, packed with ``batch_sizes[t - 1:]``
    gates: list[Tensor] | None = None  # (units, 3, N) of each level t >= 2, as units


def one_by_one(
    function: type[torch.autograd.Function],
    n_models: int,
    in_dims: tuple[int | None, ...],
    inputs: tuple[Any, ...],
    fresh: dict[int, Callable[[], Any]],
) -> tuple[Tensor, int]:
    """A rule for ``vmap`` that runs one model after the other.

    ``fresh`` has the positions of arguments that every call needs its own of, and their types.
    """
    models = []
    for k in range(n_models):
        own = [
            fresh[i]() if i in fresh else x if dim is None else x.select(dim, k)
            for i, (x, dim) in enumerate(zip(inputs, in_dims, strict=True))
        ]
        models.append(function.apply(*own))  # type: ignore[no-untyped-call]
    return torch.stack(models), 0
