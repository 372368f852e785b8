"""The pyramid as a competent user would first write it: the baseline of every speed ratio.

A padded box (B, T, D), one tensor operation at a time, masks from lengths, autograd for the
gradient. Everything the packed version avoids is here: cells of padding are computed, each child is
multiplied twice, and every intermediate is a tensor of its own. Tested against the reference.

The length-sorted variant is the same function on batches of sentences of similar length.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from adasent.nn import GatedComposition
from adasent.pyramid.weights import ACTIVATIONS, PyramidWeights
from adasent.systems.adasent import AdaSent


def pyramid_padded(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
) -> Tensor:
    """Same contract as :func:`adasent.pyramid.dispatch.pyramid`, softmax gate only."""
    longest = words.shape[1]
    exists = torch.arange(longest) < lengths[:, None]  # (B, T)
    level = words.masked_fill(~exists[:, :, None], 0.0)
    pooled = [_pool(level, exists, pooling)]
    for _ in range(1, longest):
        left, right = level[:, :-1], level[:, 1:]  # (B, T - t + 1, D)
        composed = ACTIVATIONS[activation](
            functional.linear(left, weights.compose_left)
            + functional.linear(right, weights.compose_right)
            + weights.compose_bias
        )
        gates = torch.softmax(
            functional.linear(left, weights.gate_left)
            + functional.linear(right, weights.gate_right)
            + weights.gate_bias,
            dim=-1,
        )  # (B, T - t + 1, 3)
        level = gates[..., 0:1] * left + gates[..., 1:2] * right + gates[..., 2:3] * composed
        exists = exists[:, 1:]  # a unit exists where its last word does
        pooled.append(_pool(level, exists, pooling))
    return torch.stack(pooled, dim=1)  # (B, T, D)


def _pool(level: Tensor, exists: Tensor, pooling: str) -> Tensor:
    """(B, n, D) units, of which some exist -> (B, D); zeros for a sentence that has none."""
    mask = exists[:, :, None]
    if pooling == "mean":
        return (level * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    reached = exists[:, :1]  # (B, 1)
    return level.masked_fill(~mask, float("-inf")).amax(dim=1).masked_fill(~reached, 0.0)


class PaddedComposition(GatedComposition):
    """The baseline in the place of the library's own pyramid."""

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """First-level units of a batch (B, T, D) -> pooled levels (B, T, D)."""
        return pyramid_padded(
            words, lengths, self.weights(), activation=self.activation, pooling=self.pooling
        )


def padded_network(model: AdaSent) -> AdaSent:
    """The same network around the padded pyramid, changed in place."""
    config = model.config
    composition = PaddedComposition(
        config.hidden_size,
        activation=config.activation,
        pooling=config.pooling,
        gate_size=None,
        copy_bias=config.copy_bias,
    )
    composition.load_state_dict(model.composition.state_dict())
    model.composition = composition
    return model
