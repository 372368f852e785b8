"""Beliefs: a softmax over the levels a sentence has, whatever the scores."""

from __future__ import annotations

import pytest
import torch

from adasent.nn import LevelGate

EXISTS = torch.tensor([[True, True, True], [True, False, False]])


@pytest.mark.parametrize("gate_size", [None, 4])
def test_beliefs_are_zero_beyond_the_top_and_sum_to_one(gate_size: int | None) -> None:
    torch.manual_seed(0)
    beliefs = LevelGate(5, gate_size)(torch.randn(2, 3, 5), EXISTS).exp()
    torch.testing.assert_close(beliefs.sum(dim=1), torch.ones(2))
    assert (beliefs[1, 1:] == 0).all()
    assert beliefs[1, 0] == 1
    assert (beliefs[0] > 0).all()


def test_linear_score_is_the_softmax_of_the_paper() -> None:
    gate = LevelGate(2, None)
    levels = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    score = gate.score.weight[0]
    beliefs = gate(levels, torch.ones(1, 2, dtype=torch.bool)).exp()
    torch.testing.assert_close(beliefs[0], torch.softmax(torch.stack([score[0], 2 * score[1]]), 0))


@pytest.mark.parametrize("scale", [1e4, 1e30])
def test_extreme_scores_give_no_nan(scale: float) -> None:
    torch.manual_seed(0)
    gate = LevelGate(5, None)
    levels = (scale * torch.randn(2, 3, 5)).requires_grad_()
    log_beliefs = gate(levels, EXISTS)
    assert not log_beliefs.isnan().any()
    log_beliefs.exp().sum().backward()
    assert levels.grad is not None
    assert torch.isfinite(levels.grad).all()
