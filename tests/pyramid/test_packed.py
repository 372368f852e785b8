"""The packed pyramid equals the reference: pooled levels, units, gates and every gradient."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pad_packed_sequence

from adasent.pyramid.packed import pyramid_packed
from adasent.pyramid.reference import pyramid_reference
from adasent.pyramid.weights import Pyramid, PyramidWeights
from pyramid_cases import pack, random_weights, random_words

LENGTHS = {
    "one word": [1],
    "one-word batch": [1, 1, 1],
    "two": [2, 2],
    "mixed": [5, 1, 9, 5, 2],
    "sorted": [6, 4, 3],
    "long": [63],
    "long and short": [1, 31, 2],
}


def gradients(
    build: object, lengths: list[int], size: int, **options: object
) -> tuple[Pyramid, list[torch.Tensor]]:
    shape = {name: options.pop(name) for name in ("gate_size", "n_groups") if name in options}
    weights = random_weights(size, requires_grad=True, **shape)  # type: ignore[arg-type]
    words = random_words(lengths, size).requires_grad_()
    pyramid = build(pack(words, lengths), weights, keep_units=True, **options)  # type: ignore[operator]
    generator = torch.Generator().manual_seed(2)
    target = torch.randn(pyramid.levels.data.shape, generator=generator, dtype=torch.float64)
    inputs = [words, *[w for w in weights if w is not None]]
    found = torch.autograd.grad(
        (pyramid.levels.data * target).sum(), inputs, materialize_grads=True
    )
    return pyramid, list(found)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_equals_reference(lengths: list[int], pooling: str) -> None:
    expected, expected_gradients = gradients(pyramid_reference, lengths, 7, pooling=pooling)
    got, got_gradients = gradients(pyramid_packed, lengths, 7, pooling=pooling)
    _assert_same(got, expected)
    for one, other in zip(got_gradients, expected_gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10, equal_nan=True)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("gate_size", [None, 6])
@pytest.mark.parametrize(("size", "n_groups"), [(1, 1), (20, 1), (20, 5), (6, 6)])
@pytest.mark.parametrize("height", [None, 1, 3, 40])
def test_equals_reference_for_every_variant(
    activation: str, gate_size: int | None, size: int, n_groups: int, height: int | None
) -> None:
    options = {
        "activation": activation,
        "gate_size": gate_size,
        "n_groups": n_groups,
        "height": height,
    }
    expected, expected_gradients = gradients(pyramid_reference, [4, 7, 1], size, **options)
    got, got_gradients = gradients(pyramid_packed, [4, 7, 1], size, **options)
    _assert_same(got, expected)
    for one, other in zip(got_gradients, expected_gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10, equal_nan=True)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_equal_words_share_the_gradient_of_a_maximum(pooling: str) -> None:
    """Repeated words tie; both implementations must split the gradient alike."""
    weights = random_weights(3)
    word = random_words([1], 3)[0, 0]
    found = []
    for build in (pyramid_reference, pyramid_packed):
        words = word.expand(2, 4, 3).clone().requires_grad_()
        build(pack(words, [4, 3]), weights, pooling=pooling).levels.data.sum().backward()
        found.append(words.grad)
    torch.testing.assert_close(found[0], found[1])


def test_neighbours_order_and_padding_change_nothing() -> None:
    lengths, size = [3, 8, 1, 8, 5], 6
    words, weights = random_words(lengths, size), random_weights(size)
    together = _padded(words, lengths, weights)
    for i, length in enumerate(lengths):
        alone = _padded(words[i : i + 1, :length], [length], weights)
        torch.testing.assert_close(together[i, :length], alone[0], rtol=1e-12, atol=1e-12)
    order = [4, 2, 0, 3, 1]
    shuffled = _padded(words[order], [lengths[i] for i in order], weights)
    torch.testing.assert_close(shuffled, together[order], rtol=1e-12, atol=1e-12)


def test_units_are_not_kept_unless_asked() -> None:
    pyramid = pyramid_packed(pack(random_words([3], 2), [3]), random_weights(2))
    assert pyramid.units is None
    assert pyramid.gates is None


def _padded(words: torch.Tensor, lengths: list[int], weights: PyramidWeights) -> torch.Tensor:
    levels = pyramid_packed(pack(words, lengths), weights).levels
    return pad_packed_sequence(levels, batch_first=True)[0]


def _assert_same(got: Pyramid, expected: Pyramid) -> None:
    close = {"rtol": 1e-11, "atol": 1e-11}
    torch.testing.assert_close(got.levels.data, expected.levels.data, **close)
    assert torch.equal(got.levels.batch_sizes, expected.levels.batch_sizes)
    assert got.units is not None
    assert expected.units is not None
    assert got.gates is not None
    assert expected.gates is not None
    for one, other in zip(got.units + got.gates, expected.units + expected.gates, strict=True):
        torch.testing.assert_close(one, other, **close)
