"""The mixture in log space against the plain one, and what it does at the edges."""

from __future__ import annotations

import torch

from adasent.nn import consensus


def random_mixture() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    beliefs = torch.log_softmax(torch.randn(4, 5, dtype=torch.float64), dim=1)
    level_predictions = torch.log_softmax(torch.randn(4, 5, 3, dtype=torch.float64), dim=2)
    return beliefs, level_predictions


def test_equals_the_plain_mixture() -> None:
    log_beliefs, level_log_probs = random_mixture()
    plain = (log_beliefs.exp().unsqueeze(-1) * level_log_probs.exp()).sum(dim=1)
    torch.testing.assert_close(consensus(log_beliefs, level_log_probs).exp(), plain)


def test_rows_sum_to_one() -> None:
    torch.testing.assert_close(
        consensus(*random_mixture()).exp().sum(dim=1), torch.ones(4, dtype=torch.float64)
    )


def test_a_level_without_belief_has_no_say_and_no_gradient() -> None:
    log_beliefs, level_log_probs = random_mixture()
    log_beliefs[:, 3:] = float("-inf")
    log_beliefs = torch.log_softmax(log_beliefs, dim=1)
    short = consensus(log_beliefs[:, :3], level_log_probs[:, :3])
    level_log_probs.requires_grad_()
    mixed = consensus(log_beliefs, level_log_probs)
    torch.testing.assert_close(mixed, short)
    mixed.sum().backward()
    assert level_log_probs.grad is not None
    assert (level_log_probs.grad[:, 3:] == 0).all()
    assert torch.isfinite(level_log_probs.grad).all()


def test_predictions_too_small_for_float32_survive() -> None:
    """exp(-200) is 0 in float32; the sum of two such is still log-finite."""
    level_log_probs = torch.tensor([[[-200.0, 0.0], [-201.0, 0.0]]])
    log_beliefs = torch.log(torch.tensor([[0.5, 0.5]]))
    mixed = consensus(log_beliefs, level_log_probs)
    torch.testing.assert_close(mixed[0, 0].item(), -200.3799, rtol=1e-5, atol=1e-4)
