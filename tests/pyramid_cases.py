"""Random weights and batches for the pyramid tests, and what the reference makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from adasent.pyramid.reference import pyramid_reference
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


def random_words(lengths: list[int], size: int, *, seed: int = 1) -> Tensor:
    """(B, T, D), with NaN where there is only padding."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(len(lengths), max(lengths), size, generator=generator, dtype=torch.float64)
    for i, length in enumerate(lengths):
        words[i, length:] = float("nan")
    return words


def pack(words: Tensor, lengths: list[int]) -> PackedSequence:
    return pack_padded_sequence(
        words, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )


def reference(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    height: int | None = None,
    **options: str,
) -> Tensor:
    """The reference with the contract of the other implementations."""
    packed = pack(words, lengths.tolist())
    levels = pyramid_reference(packed, weights, height=height, **options).levels
    n_levels = min(words.shape[1], height or words.shape[1])
    return pad_packed_sequence(levels, batch_first=True, total_length=n_levels)[0]


def outcome(
    build: Callable[..., Tensor],
    lengths: list[int],
    size: int,
    *,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
    padding: int = 2,
    n_groups: int = 1,
    **options: object,
) -> list[Tensor]:
    """Levels, and gradients of a random function of them by words and six weights."""
    to = {"dtype": dtype, "device": device}
    drawn = random_weights(size, n_groups=n_groups)[:6]
    weights = PyramidWeights(*[w.to(**to).requires_grad_() for w in drawn])
    words = torch.full((len(lengths), max(lengths) + padding, size), float("nan"), **to)
    words[:, : max(lengths)] = random_words(lengths, size).to(**to)
    words.requires_grad_()
    levels = build(words, torch.tensor(lengths, device=device), weights, **options)
    generator = torch.Generator().manual_seed(2)
    target = torch.randn(levels.shape, generator=generator, dtype=torch.float64).to(**to)
    inputs = [words, *weights[:6]]
    found = torch.autograd.grad((levels * target).sum(), inputs, materialize_grads=True)
    return [tensor.cpu() for tensor in (levels.detach(), *found)]


def assert_same(got: Sequence[Tensor], expected: Sequence[Tensor], tolerance: float) -> None:
    """Each within a share of the norm of what is expected."""
    for one, other in zip(got, expected, strict=True):
        assert torch.isfinite(one).all()
        other = other.to(torch.float64)
        assert (one - other).norm() <= tolerance * (1e-30 + other.norm())
