"""Derivatives of the head against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.explain.gradients import KINK, level_gradients
from adasent.runtime.levels import LevelHead


def mixture(head: LevelHead, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Beliefs, votes and probabilities of one text's levels (T, D)."""
    beliefs = np.exp(head.scores(levels))
    beliefs /= beliefs.sum()
    votes = np.exp(head.log_probs(levels)).T
    return beliefs, votes, beliefs @ votes


@pytest.mark.parametrize("classifier_size", [0, 6])
@pytest.mark.parametrize("level_gate", ["softmax", "mlp"])
def test_derivative_by_every_pooled_level(
    make_twin: Callable[..., Any], classifier_size: int, level_gate: str
) -> None:
    twin = make_twin(classifier_size=classifier_size, level_gate=level_gate)
    head = twin.predictor.network.head
    head.tensors = {name: tensor.astype(np.float64) for name, tensor in head.tensors.items()}
    levels = np.random.default_rng(0).normal(size=(4, 7))
    if classifier_size:  # differences know nothing of what is done near a kink
        weight, bias = (
            head.tensors["classifier.hidden.weight"],
            head.tensors["classifier.hidden.bias"],
        )
        assert np.abs(levels @ weight.T + bias).min() > KINK / 2
    beliefs, votes, _ = mixture(head, levels)
    found = level_gradients(head, levels[:, None], beliefs[:, None], votes[:, None])
    assert found.shape == (2, 4, 1, 7)
    for t in range(4):
        for d in range(7):
            moved = levels.copy()
            moved[t, d] += 1e-5
            higher = mixture(head, moved)[2]
            moved[t, d] -= 2e-5
            slope = (higher - mixture(head, moved)[2]) / 2e-5
            np.testing.assert_allclose(found[:, t, 0, d], slope[:2], rtol=1e-3, atol=1e-5)
