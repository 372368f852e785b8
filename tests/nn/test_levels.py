"""Beliefs in levels, the classifier they share, and the mixture in log space."""

from __future__ import annotations

import pytest
import torch

from adasent.nn import LevelClassifier, LevelGate, consensus, log_answers
from adasent.systems.base import cross_entropy

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


@pytest.mark.parametrize("classifier_size", [0, 4])
def test_rows_are_log_probabilities(classifier_size: int) -> None:
    torch.manual_seed(0)
    log_probs = LevelClassifier(5, classifier_size, 3)(torch.randn(2, 7, 5))
    assert log_probs.shape == (2, 7, 3)
    torch.testing.assert_close(log_probs.exp().sum(dim=-1), torch.ones(2, 7))


def test_without_hidden_layer_it_is_linear() -> None:
    classifier = LevelClassifier(5, 0, 3)
    level = torch.randn(5)
    scores = classifier.out.weight @ level + classifier.out.bias
    torch.testing.assert_close(classifier(level), torch.log_softmax(scores, dim=0))


def test_one_class_is_certain() -> None:
    assert LevelClassifier(5, 4, 1)(torch.randn(6, 5)).abs().max() == 0


def test_extreme_levels_give_no_nan() -> None:
    assert not LevelClassifier(5, 4, 3)(torch.full((1, 5), 1e30)).isnan().any()


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


# -- several labels a text -----------------------------------------------------------------------


def test_the_mixture_of_two_levels_and_its_loss_by_hand() -> None:
    """Levels believed 3/4 and 1/4 say 1/2 and 4/5 of one class, and 1/5 and 1/2 of the other."""
    log_beliefs = torch.tensor([[0.75, 0.25]]).log()
    scores = torch.tensor([[[0.5, 0.2], [0.8, 0.5]]]).logit()
    mixed = consensus(log_beliefs, log_answers(scores, True)).exp()
    # 3/4 x 1/2 + 1/4 x 4/5 = 0.575, 3/4 x 1/5 + 1/4 x 1/2 = 0.275, and what is left of each to 1.
    torch.testing.assert_close(mixed, torch.tensor([[0.575, 0.275, 0.425, 0.725]]))
    targets = torch.tensor([[1.0, 0.0, 0.0, 1.0]])  # the first class and not the second
    loss = cross_entropy(mixed.log(), targets)
    torch.testing.assert_close(loss, -(torch.tensor([0.575]).log() + torch.tensor([0.725]).log()))
    reference = torch.nn.functional.binary_cross_entropy(
        mixed[:, :2], targets[:, :2], reduction="sum"
    )
    torch.testing.assert_close(loss[0], reference)


@pytest.mark.parametrize("score", [0.0, 20.0, 500.0, 1e30])
def test_sure_answers_keep_their_logarithms_and_gradients(score: float) -> None:
    scores = torch.tensor([[[score, -score], [score, -score]]], requires_grad=True)
    mixed = consensus(torch.tensor([[0.5, 0.5]]).log(), log_answers(scores, True))
    expected = torch.nn.functional.logsigmoid(torch.tensor([score, -score, -score, score]))
    torch.testing.assert_close(mixed[0], expected)
    (gradient,) = torch.autograd.grad(mixed[0, 2], scores)  # of no to the first class
    assert torch.isfinite(gradient).all()
    if score <= 500:  # in float32 1 - p is 0 from a score of 17 on: its logarithm is not made of it
        torch.testing.assert_close(gradient.sum(), -torch.sigmoid(torch.tensor(score)))


def test_gradients_of_the_mixture_of_several_labels() -> None:
    torch.manual_seed(0)
    classifier = LevelClassifier(5, 4, 3, multilabel=True).double()
    gate = LevelGate(5, None).double()
    targets = torch.tensor([[1.0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 1, 1]], dtype=torch.float64)

    def loss(levels: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        names = [name for name, _ in classifier.named_parameters()]
        said = torch.func.functional_call(
            classifier, dict(zip(names, weights, strict=True)), (levels,)
        )
        return cross_entropy(consensus(gate(levels, EXISTS), said), targets)

    levels = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, (levels, *classifier.parameters()))


def test_an_unknown_text_has_each_class_with_its_share() -> None:
    classifier = LevelClassifier(5, 4, 3, multilabel=True)
    classifier.start_at(torch.tensor([0.5, 0.1, 0.0]))
    torch.testing.assert_close(
        torch.sigmoid(classifier.out.bias.detach()), torch.tensor([0.5, 0.1, 1e-4])
    )
