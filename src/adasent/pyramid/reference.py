"""The paper's recurrence, written plainly: one sentence, one level, one cell at a time.

This is the definition. It is slow on purpose; every other implementation is tested against it.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from adasent.pyramid.weights import ACTIVATIONS, Pyramid, PyramidWeights


def local_gates(left: Tensor, right: Tensor, weights: PyramidWeights) -> Tensor:
    """(omega_l, omega_r, omega_c) = softmax(G_L h_l + G_R h_r + b_G), or an MLP in its place."""
    scores = weights.gate_left @ left + weights.gate_right @ right + weights.gate_bias  # (H,)
    if weights.gate_out is not None:
        assert weights.gate_out_bias is not None
        scores = weights.gate_out @ torch.tanh(scores) + weights.gate_out_bias  # (3,)
    return torch.softmax(scores, dim=0)


def compose(left: Tensor, right: Tensor, weights: PyramidWeights, activation: str) -> Tensor:
    """h~ = f(W_L h_l + W_R h_r + b_W)."""
    return ACTIVATIONS[activation](
        weights.compose_left @ left + weights.compose_right @ right + weights.compose_bias
    )


def sentence_pyramid(
    words: Tensor, weights: PyramidWeights, activation: str
) -> tuple[list[Tensor], list[Tensor]]:
    """All units and gates of one sentence.

    Parameters
    ----------
    words
        (T, D) first level h^1.

    Returns
    -------
    units
        T tensors; entry t - 1 is (T - t + 1, D).
    gates
        T - 1 tensors; entry t - 2 is (T - t + 1, 3).
    """
    units, gates = [words], []
    for t in range(2, len(words) + 1):
        below = units[-1]
        level, level_gates = [], []
        for j in range(len(words) - t + 1):
            left, right = below[j], below[j + 1]
            omega = local_gates(left, right, weights)
            composed = compose(left, right, weights, activation)
            level.append(omega[0] * left + omega[1] * right + omega[2] * composed)
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
    keep_units: bool = False,
) -> Pyramid:
    """Build the pyramid of each sentence in turn and pool its levels."""
    padded, lengths = pad_packed_sequence(words, batch_first=True)  # (B, T, D)
    hierarchies = padded.new_zeros(padded.shape)
    all_units: list[list[Tensor]] = []
    all_gates: list[list[Tensor]] = []
    for i, length in enumerate(lengths.tolist()):
        units, gates = sentence_pyramid(padded[i, :length], weights, activation)
        pooled = torch.stack([pool(level, pooling) for level in units])  # (T, D)
        hierarchies = hierarchies.index_put((torch.tensor(i), torch.arange(length)), pooled)
        all_units.append(units)
        all_gates.append(gates)
    levels = pack_padded_sequence(hierarchies, lengths, batch_first=True, enforce_sorted=False)
    if not keep_units:
        return Pyramid(levels)
    order = levels.sorted_indices
    assert order is not None
    by_length = order.tolist()
    return Pyramid(
        levels,
        _pack_levels([all_units[i] for i in by_length]),
        _pack_levels([all_gates[i] for i in by_length]),
    )


def _pack_levels(sentences: list[list[Tensor]]) -> list[Tensor]:
    """Per-sentence levels (longest sentence first) -> position-major rows for each level."""
    packed = []
    for t in range(len(sentences[0])):
        reach = [levels[t] for levels in sentences if len(levels) > t]
        rows = [level[j] for j in range(len(reach[0])) for level in reach if len(level) > j]
        packed.append(torch.stack(rows))
    return packed
