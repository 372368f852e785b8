"""Which implementation runs is stated, and the portable one is right under ``vmap`` too."""

from __future__ import annotations

import importlib.util

import pytest
import torch
from torch import Tensor

from adasent.pyramid import dispatch
from adasent.pyramid.cpu import pyramid_cpu
from adasent.pyramid.dispatch import choose, pyramid
from adasent.pyramid.weights import PyramidWeights
from pyramid_cases import random_weights, random_words


def test_cpu_tensors_take_the_compiled_pyramid() -> None:
    words, weights = random_words([3], 4), random_weights(4)
    assert choose(words, weights) == ("cpu", "")
    expected = pyramid_cpu(words, torch.tensor([3]), weights, pooling="max")
    assert torch.equal(pyramid(words, torch.tensor([3]), weights, pooling="max"), expected)


def test_reasons_against_it_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    words, weights = random_words([3], 4), random_weights(4)
    assert choose(words, random_weights(4, gate_size=5)) == (
        "packed",
        "the compiled kernels have no MLP gate",
    )
    assert choose(words.half(), weights).reason == "the compiled kernels have no torch.float16"
    assert choose(words.to("meta"), weights).reason == "no compiled kernels for meta devices"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert choose(words, weights) == ("packed", "numba is not installed; pip install numba")


def test_without_numba_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = torch.tensor([5, 1, 4])
    words = random_words([5, 1, 4], 4).requires_grad_()
    weights = random_weights(4, requires_grad=True)
    found = []
    for choice in ("cpu", "packed"):
        monkeypatch.setattr(
            dispatch, "choose", lambda *_, name=choice: dispatch.Choice(name, "test")
        )
        levels = pyramid(words, lengths, weights, pooling="max")
        gradients = torch.autograd.grad(levels.square().sum(), [words, *weights[:6]])
        found.append([levels.detach(), *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_mlp_gates_of_stacked_models_equal_those_alone() -> None:
    lengths = torch.tensor([[5, 2], [1, 4]])
    words = torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    stacked = [
        torch.stack(parts).requires_grad_()
        for parts in zip(*[random_weights(4, gate_size=3, seed=k) for k in range(2)], strict=True)
    ]

    def one(words: Tensor, lengths: Tensor, *own: Tensor) -> Tensor:
        return pyramid(words, lengths, PyramidWeights(*own))

    together = torch.vmap(one)(words, lengths, *stacked)
    gradients = torch.autograd.grad(together.square().sum(), [words, *stacked])
    for k in range(2):
        alone = one(words[k], lengths[k], *[w[k] for w in stacked])
        torch.testing.assert_close(alone, together[k], rtol=1e-12, atol=1e-14)
        expected = torch.autograd.grad(alone.square().sum(), [words, *stacked])
        for got, want in zip(gradients, expected, strict=True):
            torch.testing.assert_close(got[k], want[k], rtol=1e-12, atol=1e-14)
