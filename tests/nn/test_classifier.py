"""The classifier that all levels share."""

from __future__ import annotations

import pytest
import torch

from adasent.nn import LevelClassifier


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
