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
    taken = head.normalise(levels)
    beliefs = np.exp(head.scores(taken))
    beliefs /= beliefs.sum()
    votes = np.exp(head.log_probs(taken))
    return beliefs, votes, votes @ beliefs


@pytest.mark.parametrize("classifier_size", [0, 6])
@pytest.mark.parametrize("level_gate", ["softmax", "mlp"])
@pytest.mark.parametrize("level_norm", [True, False])
def test_derivative_by_every_pooled_level(
    make_twin: Callable[..., Any], classifier_size: int, level_gate: str, level_norm: bool
) -> None:
    twin = make_twin(classifier_size=classifier_size, level_gate=level_gate, level_norm=level_norm)
    head = twin.predictor.network.head
    head.tensors = {name: tensor.astype(np.float64) for name, tensor in head.tensors.items()}
    levels = np.random.default_rng(2).normal(size=(4, 7))
    if classifier_size:  # differences know nothing of what is done near a kink
        weight, bias = (
            head.tensors["classifier.hidden.weight"],
            head.tensors["classifier.hidden.bias"],
        )
        assert np.abs(head.normalise(levels) @ weight.T + bias).min() > KINK / 2
    beliefs, votes, p = mixture(head, levels)
    found = level_gradients(head, levels, beliefs, votes, p[:, None])
    assert found.shape == (2, 4, 7)
    for t in range(4):
        for d in range(7):
            moved = levels.copy()
            moved[t, d] += 1e-5
            higher = mixture(head, moved)[2]
            moved[t, d] -= 2e-5
            slope = (higher - mixture(head, moved)[2]) / 2e-5
            np.testing.assert_allclose(found[:, t, d], slope[:2], rtol=1e-3, atol=1e-5)
