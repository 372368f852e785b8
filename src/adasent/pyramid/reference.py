"""The paper's recurrence, written plainly: one sentence, one level, one cell at a time.

This is the definition. It is slow on purpose; every other implementation is tested against it.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from adasent.pyramid.weights import ACTIVATIONS, Pyramid, PyramidWeights


def local_gates(left: Tensor, right: Tensor, weights: PyramidWeights) -> Tensor:
    """(omega_l, omega_r, omega_c) = softmax(G_L h_l + G_R h_r + b_G), or an MLP in its place.

    (3, N): the three shares of each of N groups of dimensions; the paper has one group.
    """
    scores = weights.gate_left @ left + weights.gate_right @ right + weights.gate_bias  # (H,)
    if weights.gate_out is not None:
        assert weights.gate_out_bias is not None
        scores = weights.gate_out @ torch.tanh(scores) + weights.gate_out_bias  # (3 N,)
    return torch.softmax(scores.view(3, -1), dim=0)


def compose(left: Tensor, right: Tensor, weights: PyramidWeights, activation: str) -> Tensor:
    """h~ = f(W_L h_l + W_R h_r + b_W)."""
    return ACTIVATIONS[activation](
        weights.compose_left @ left + weights.compose_right @ right + weights.compose_bias
    )


def sentence_pyramid(
    words: Tensor, weights: PyramidWeights, activation: str, height: int | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """All units and gates of one sentence.

    Parameters
    ----------
    words
        (T, D) first level h^1.
    height
        Levels at most; None for T of them.

    Returns
    -------
    units
        A tensor for each level; entry t - 1 is (T - t + 1, D).
    gates
        One less; entry t - 2 is (T - t + 1, 3, N).
    """
    units, gates = [words], []
    for t in range(2, min(len(words), height or len(words)) + 1):
        below = units[-1]
        level, level_gates = [], []
        for j in range(len(words) - t + 1):
            left, right = below[j], below[j + 1]
            omega = local_gates(left, right, weights)
            composed = compose(left, right, weights, activation)
            # Dimension d is of group d mod N.
            share = omega.repeat(1, len(left) // omega.shape[1])  # (3, D)
            level.append(share[0] * left + share[1] * right + share[2] * composed)
            level_gates.append(omega)
        units.append(torch.stack(level))
        gates.append(torch.stack(level_gates))
    return units, gates


def pool(level: Tensor, pooling: str) -> Tensor:
    """(n, D) units of one level -> (D,). ``amax`` shares the gradient among equal maxima."""
    return level.mean(dim=0) if pooling == "mean" else level.amax(dim=0)


def pyramid_reference(
    words: PackedSequence,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    height: int | None = None,
    keep_units: bool = False,
) -> Pyramid:
    """Build the pyramid of each sentence in turn and pool its levels."""
    padded, lengths = pad_packed_sequence(words, batch_first=True)  # (B, T, D)
    order = words.sorted_indices
    assert order is not None
    units, gates, pooled = [], [], []
    for i in order.tolist():
        own, own_gates = sentence_pyramid(padded[i, : lengths[i]], weights, activation, height)
        units.append(own)
        gates.append(own_gates)
        pooled.append([pool(level, pooling)[None] for level in own])
    data = torch.cat(_pack_levels(pooled))
    levels = words._replace(data=data, batch_sizes=words.batch_sizes[: len(pooled[0])])
    if not keep_units:
        return Pyramid(levels)
    return Pyramid(levels, _pack_levels(units), _pack_levels(gates))


def _pack_levels(sentences: list[list[Tensor]]) -> list[Tensor]:
    """Per-sentence levels (longest sentence first) -> position-major rows for each level."""
    packed = []
    for t in range(len(sentences[0])):
        reach = [levels[t] for levels in sentences if len(levels) > t]
        rows = [level[j] for j in range(len(reach[0])) for level in reach if len(level) > j]
        packed.append(torch.stack(rows))
    return packed
