"""The compiled CPU pyramid equals the reference: pooled levels and every gradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from adasent.pyramid import cpu
from adasent.pyramid.compiled_backward import level_backward
from adasent.pyramid.compiled_forward import level_forward
from adasent.pyramid.cpu import pyramid_cpu
from adasent.pyramid.weights import PyramidWeights
from pyramid_cases import assert_same, outcome, random_weights, random_words, reference

LENGTHS = {
    "one word": [1],
    "one-word batch": [1, 1, 1],
    "two": [2, 2],
    "three": [3],
    "mixed": [5, 1, 9, 5, 2],
    "sorted": [6, 4, 3],
    "long": [63],
    "long and short": [1, 31, 2],
}


@pytest.mark.parametrize("part", [1, 25])
@pytest.mark.parametrize("height", [None, 3])
def test_large_batches_in_parts(
    part: int, height: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = LENGTHS["mixed"]
    whole = outcome(reference, lengths, 6, height=height)
    monkeypatch.setattr(cpu, "_LARGE_BATCH", 20)
    monkeypatch.setattr(cpu, "_PART", part)
    assert_same(outcome(pyramid_cpu, lengths, 6, height=height), whole, 1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
def test_equals_reference(lengths: list[int], pooling: str, activation: str) -> None:
    options = {"activation": activation, "pooling": pooling}
    expected = outcome(reference, lengths, 7, **options)
    got = outcome(pyramid_cpu, lengths, 7, **options)
    assert_same(got, expected, 1e-9)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("n_groups", [1, 2, 3, 6])
@pytest.mark.parametrize("height", [None, 1, 2, 4, 50])
def test_gates_of_groups_and_height_equal_the_reference(
    n_groups: int, height: int | None, pooling: str, activation: str
) -> None:
    options = {
        "activation": activation,
        "pooling": pooling,
        "n_groups": n_groups,
        "height": height,
    }
    for lengths in ([5, 1, 9, 5, 2], [1], [4, 4]):
        expected = outcome(reference, lengths, 6, **options)
        got = outcome(pyramid_cpu, lengths, 6, **options)
        assert_same(got, expected, 1e-9)


@pytest.mark.parametrize(("size", "n_groups"), [(1, 1), (20, 1), (33, 1), (33, 11), (20, 20)])
def test_equals_reference_in_single_precision(size: int, n_groups: int) -> None:
    options = {"activation": "tanh", "pooling": "max", "n_groups": n_groups}
    expected = outcome(reference, [12, 3, 7], size, **options)
    got = outcome(pyramid_cpu, [12, 3, 7], size, dtype=torch.float32, **options)
    assert_same(got, expected, 2e-5)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_threads_change_nothing_but_the_last_bits(
    monkeypatch: pytest.MonkeyPatch, pooling: str
) -> None:
    lengths = [9, 4, 4, 11, 1, 2, 7]
    expected = outcome(reference, lengths, 5, activation="tanh", pooling=pooling)
    monkeypatch.setattr(cpu, "_MIN_NUMBERS_FOR_THREADS", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        got = outcome(pyramid_cpu, lengths, 5, activation="tanh", pooling=pooling)
    finally:
        torch.set_num_threads(before)
    assert_same(got, expected, 1e-9)


def test_equal_words_share_the_gradient_of_a_maximum() -> None:
    """With no product between words and maximum, so that equal words are equal units.

    In a text of one word the pyramid composes nothing, and in longer ones the first level does not:
    its pooled row is the maximum of the words themselves.
    """
    word = torch.tensor([0.5, -1.25, 2.0], dtype=torch.float64)
    words = word.expand(2, 4, 3).clone().requires_grad_()
    lengths = torch.tensor([4, 3])
    levels = pyramid_cpu(words, lengths, random_weights(3), pooling="max")
    (got,) = torch.autograd.grad(levels[:, 0].sum(), words)
    expected = torch.zeros(2, 4, 3, dtype=torch.float64)
    expected[0] = 1 / 4
    expected[1, :3] = 1 / 3
    torch.testing.assert_close(got, expected)


def test_gradients_of_equal_words_agree_in_sum() -> None:
    """Which of the equal units takes the gradient of a maximum may differ.

    A product may round equal rows differently by their position, so that there is no tie. What
    equal words get together, and what the weights get, does not depend on it.
    """
    word = random_words([1], 3)[0, 0]
    words = word.expand(2, 4, 3).clone().requires_grad_()
    lengths = torch.tensor([4, 3])

    def gradients(build: Callable[..., Tensor]) -> list[Tensor]:
        weights = random_weights(3, requires_grad=True)
        levels = build(words, lengths, weights, activation="tanh", pooling="max")
        of_words, *others = torch.autograd.grad(levels.sum(), [words, *weights[:6]])
        return [of_words.sum(dim=1), *others]

    torch.testing.assert_close(gradients(pyramid_cpu), gradients(reference), rtol=1e-12, atol=1e-12)


def test_gradient_is_that_of_finite_differences() -> None:
    weights = random_weights(4, requires_grad=True)
    words = random_words([4, 2], 4)[:, :4].nan_to_num().requires_grad_()

    def levels(words: Tensor, *own: Tensor) -> Tensor:
        return pyramid_cpu(words, torch.tensor([4, 2]), PyramidWeights(*own), pooling="max")

    assert torch.autograd.gradcheck(levels, (words, *weights[:6]))


def test_backward_may_come_twice() -> None:
    words = random_words([6, 3], 4).requires_grad_()
    levels = pyramid_cpu(words, torch.tensor([6, 3]), random_weights(4))
    first = torch.autograd.grad(levels.sum(), words, retain_graph=True)
    second = torch.autograd.grad(levels.sum(), words)
    torch.testing.assert_close(first, second)


def test_models_under_vmap_equal_models_alone() -> None:
    lengths = torch.tensor([[5, 2], [1, 4], [3, 3]])
    words = torch.randn(3, 2, 6, 4, dtype=torch.float64, requires_grad=True)
    stacked = [
        torch.stack(parts).requires_grad_()
        for parts in zip(*[random_weights(4, seed=k)[:6] for k in range(3)], strict=True)
    ]

    def one(words: Tensor, lengths: Tensor, *own: Tensor) -> Tensor:
        return pyramid_cpu(words, lengths, PyramidWeights(*own), pooling="max")

    together = torch.vmap(one)(words, lengths, *stacked)
    gradients = torch.autograd.grad(together.square().sum(), [words, *stacked])
    for k in range(3):
        alone = one(words[k], lengths[k], *[w[k] for w in stacked])
        torch.testing.assert_close(alone, together[k], rtol=1e-12, atol=1e-14)
        expected = torch.autograd.grad(alone.square().sum(), [words, *stacked])
        for got, want in zip(gradients, expected, strict=True):
            torch.testing.assert_close(got[k], want[k], rtol=1e-12, atol=1e-14)


def test_models_under_vmap_keep_their_units() -> None:
    """Inside of vmap no tensor needs a gradient; the units must be kept all the same."""
    words = torch.randn(2, 1, 5, 4, dtype=torch.float64, requires_grad=True)
    weights = random_weights(4)
    lengths = torch.tensor([[5], [4]])
    together = torch.vmap(lambda words, lengths: pyramid_cpu(words, lengths, weights))
    together(words, lengths).sum().backward()
    assert words.grad is not None


def test_neighbours_order_and_padding_change_nothing() -> None:
    lengths, size = torch.tensor([3, 8, 1, 8, 5]), 6
    words, weights = random_words(lengths.tolist(), size), random_weights(size)
    together = pyramid_cpu(words, lengths, weights)
    for i, length in enumerate(lengths.tolist()):
        alone = pyramid_cpu(words[i : i + 1, :length], lengths[i : i + 1], weights)
        torch.testing.assert_close(together[i, :length], alone[0], rtol=1e-12, atol=1e-12)
        assert not together[i, length:].any()


def test_saturated_and_huge_values_stay_finite_in_single_precision() -> None:
    weights = PyramidWeights(*[100 * w.float() for w in random_weights(5)[:6]])
    words = (1e4 * random_words([7], 5)).float().requires_grad_()
    levels = pyramid_cpu(words, torch.tensor([7]), weights)
    levels.sum().backward()
    assert torch.isfinite(levels).all()
    assert words.grad is not None
    assert torch.isfinite(words.grad).all()


def test_nan_is_not_hidden() -> None:
    """A diverged network must show itself; the rational tanh must not clamp NaN away."""
    words = torch.full((1, 3, 4), float("nan"))
    weights = PyramidWeights(*[w.float() for w in random_weights(4)[:6]])
    assert torch.isnan(pyramid_cpu(words, torch.tensor([3]), weights)[0, 2]).all()


@pytest.mark.parametrize("n_groups", [1, 2])
def test_level_passes_write_every_element(n_groups: int) -> None:
    """Scratch comes uninitialised: NaN left behind anywhere would reach the gradient."""
    rng = np.random.default_rng(0)
    counts, size = np.array([3, 3, 2, 1]), 4
    rows, cells = int(counts.sum()), int(counts[1:].sum())
    below, product = rng.normal(size=(rows, size)), rng.normal(size=(rows, 2 * size + 4 * n_groups))
    above, composed = np.full((cells, size), np.nan), np.full((cells, size), np.nan)
    pooled, gates = np.full((3, size), np.nan), np.full((cells, 3 * n_groups), np.nan)
    level_forward(
        below, product, np.zeros(size), np.zeros(2 * n_groups), counts, above, pooled, composed,
        gates,
        relu=False, maximum=False,
    )  # fmt: skip
    for array in (above, composed, pooled, gates):
        assert np.isfinite(array).all()
    np.testing.assert_allclose(gates.reshape(cells, 3, -1).sum(axis=1), 1.0)
    d_below, d_product = np.full_like(below, np.nan), np.full_like(product, np.nan)
    level_backward(
        below, rng.normal(size=(3, size)), rng.normal(size=(3, size)), np.full((3, size), np.nan),
        composed, gates, counts, rng.normal(size=(cells, size)), d_below, d_product,
        np.zeros((1, size + 2 * n_groups)), relu=False, maximum=False,
    )  # fmt: skip
    assert np.isfinite(d_below).all()
    assert np.isfinite(d_product).all()
