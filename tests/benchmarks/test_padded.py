"""The baseline computes the same pyramid as the reference, or its speed would mean nothing."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pad_packed_sequence

from adasent.pyramid.reference import pyramid_reference
from benchmarks.padded import padded_network, pyramid_padded
from benchmarks.workloads import network
from pyramid_cases import pack, random_weights, random_words

LENGTHS = [3, 1, 6, 2]


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_equals_the_reference_with_all_gradients(pooling: str, activation: str) -> None:
    def gradients(padded: bool) -> tuple[torch.Tensor, ...]:
        weights = random_weights(5, requires_grad=True)
        words = random_words(LENGTHS, 5).requires_grad_()
        settings = {"activation": activation, "pooling": pooling}
        if padded:
            levels = pyramid_padded(words, torch.tensor(LENGTHS), weights, **settings)
        else:
            built = pyramid_reference(pack(words, LENGTHS), weights, **settings)
            levels, _ = pad_packed_sequence(built.levels, batch_first=True)
        leaves = [words, *(weight for weight in weights if weight is not None)]
        # Squares, so that every level's gradient differs.
        return (levels, *torch.autograd.grad(levels.square().sum(), leaves))

    for ours, theirs in zip(gradients(padded=True), gradients(padded=False), strict=True):
        torch.testing.assert_close(ours.nan_to_num(), theirs.nan_to_num())


def test_the_whole_network_gives_the_same_probabilities() -> None:
    ids = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]])
    lengths = torch.tensor([4, 2])
    model = network(8)
    with torch.no_grad():
        expected = model(ids, lengths).log_probs
        padded = padded_network(model)(ids, lengths).log_probs
    assert type(model.composition).__name__ == "PaddedComposition"
    torch.testing.assert_close(padded, expected, atol=1e-5, rtol=1e-5)
