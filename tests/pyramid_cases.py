"""Random weights and batches for the pyramid tests."""

from __future__ import annotations

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from adasent.pyramid.weights import PyramidWeights


def random_weights(
    size: int,
    *,
    n_groups: int = 1,
    gate_size: int | None = None,
    seed: int = 0,
    requires_grad: bool = False,
) -> PyramidWeights:
    generator = torch.Generator().manual_seed(seed)
    width = gate_size or 3 * n_groups
    shapes = [(size, size), (size, size), (size,), (width, size), (width, size), (width,)]
    if gate_size:
        shapes += [(3 * n_groups, width), (3 * n_groups,)]
    tensors = [
        torch.randn(*shape, generator=generator, dtype=torch.float64) / shape[-1] ** 0.5
        for shape in shapes
    ]
    return PyramidWeights(*[t.requires_grad_(requires_grad) for t in tensors])


def random_words(lengths: list[int], size: int, *, seed: int = 1) -> torch.Tensor:
    """(B, T, D), with NaN where there is only padding."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(len(lengths), max(lengths), size, generator=generator, dtype=torch.float64)
    for i, length in enumerate(lengths):
        words[i, length:] = float("nan")
    return words


def pack(words: torch.Tensor, lengths: list[int]) -> PackedSequence:
    return pack_padded_sequence(
        words, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
