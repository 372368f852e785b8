"""All pyramids of a batch at once, one step per level, real cells only.

Units are kept in the position-major layout of ``PackedSequence``: sentences sorted by length,
longest first, and for each position j the rows of those sentences that have one. With n_k the
number of sentences longer than k words, level t holds sum of n_k for k >= t - 1 rows, so nothing
is ever computed for padding. The right children of a level are then a plain slice of the level
below, and the left children drop the last rows of each position's block.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from adasent.pyramid.weights import ACTIVATIONS, Pyramid, PyramidWeights


def pyramid_packed(
    words: PackedSequence,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
    height: int | None = None,
    keep_units: bool = False,
) -> Pyramid:
    """Same contract as :func:`adasent.pyramid.reference.pyramid_reference`."""
    f = ACTIVATIONS[activation]
    size = words.data.shape[1]
    # Composition and gate share one product with each child: (D, D + H).
    from_left = torch.cat([weights.compose_left, weights.gate_left]).T
    from_right = torch.cat([weights.compose_right, weights.gate_right]).T
    bias = torch.cat([weights.compose_bias, weights.gate_bias])

    counts = words.batch_sizes  # n_k, on the CPU, non-increasing
    below = words.data
    sentence_of = _sentence_of_row(counts)  # (rows of level 1,)
    pooled = [_pool(below, sentence_of, counts, pooling)]
    units, gates = [below], []
    n_levels = min(len(counts), height or len(counts))
    for t in range(2, n_levels + 1):
        n_below = int(counts[t - 2])  # sentences that have a unit at position 0 of the level below
        left = _left_children(below, counts[t - 2 :])
        right = below[n_below:]
        product = torch.addmm(torch.addmm(bias, left, from_left), right, from_right)
        composed = f(product[:, :size])  # (cells, D)
        omega = _gates(product[:, size:], weights)  # (cells, 3, N)
        by_group = (len(omega), -1, omega.shape[2])  # dimension d is of group d mod N
        level = omega[:, 0:1] * left.view(by_group) + omega[:, 1:2] * right.view(by_group)
        level = (level + omega[:, 2:3] * composed.view(by_group)).view_as(composed)
        sentence_of = sentence_of[n_below:]
        pooled.append(_pool(level, sentence_of, counts[t - 1 :], pooling))
        if keep_units:
            units.append(level)
            gates.append(omega)
        below = level
    levels = words._replace(data=torch.cat(pooled), batch_sizes=counts[:n_levels])
    return Pyramid(levels, units, gates) if keep_units else Pyramid(levels)


def _gates(scores: Tensor, weights: PyramidWeights) -> Tensor:
    if weights.gate_out is not None:
        assert weights.gate_out_bias is not None
        scores = torch.addmm(weights.gate_out_bias, torch.tanh(scores), weights.gate_out.T)
    return torch.softmax(scores.view(len(scores), 3, -1), dim=1)


def _sentence_of_row(counts: Tensor) -> Tensor:
    """Index (in sorted order) of the sentence each packed row belongs to."""
    return torch.cat([torch.arange(n) for n in counts.tolist()])


def _left_children(below: Tensor, counts: Tensor) -> Tensor:
    """Rows of the level below, in blocks of ``counts``, that have a right neighbour."""
    if counts[0] == counts[-1]:  # all sentences equally long: a view will do
        return below[: -int(counts[0])]
    starts = (torch.cumsum(counts, 0) - counts).tolist()
    kept = counts[1:].tolist()
    rows = torch.cat([torch.arange(s, s + n) for s, n in zip(starts[:-1], kept, strict=True)])
    return below.index_select(0, rows.to(below.device))


def _pool(level: Tensor, sentence_of: Tensor, counts: Tensor, pooling: str) -> Tensor:
    """Reduce the units of one level to one row a sentence: (n, D)."""
    n = int(counts[0])
    if n == counts[-1]:
        blocks = level.view(len(counts), n, -1)
        return blocks.mean(dim=0) if pooling == "mean" else blocks.amax(dim=0)
    rows = sentence_of.to(level.device)
    if pooling == "mean":
        units_of = torch.bincount(sentence_of, minlength=n).to(level)  # (n,)
        return level.new_zeros(n, level.shape[1]).index_add(0, rows, level) / units_of[:, None]
    index = rows[:, None].expand_as(level)
    return level.new_zeros(n, level.shape[1]).scatter_reduce(
        0, index, level, reduce="amax", include_self=False
    )
