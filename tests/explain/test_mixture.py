"""Derivatives of the head against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.explain.mixture import (
    KINK_WIDTH,
    HeadGradient,
    Mixture,
    by_vote_numpy,
    finish_numpy,
    mix,
)
from adasent.runtime.head import LevelHead


def mixture(head: LevelHead, levels: np.ndarray) -> Mixture:
    """Of one text's levels (T, D)."""
    return mix(head, levels, np.arange(len(levels)), np.array([0]))


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
        assert np.abs(head.normalise(levels) @ weight.T + bias).min() > KINK_WIDTH / 2
    made = mixture(head, levels)
    gradient = HeadGradient.of(head)
    found = gradient(levels, made, made.beliefs, made.probabilities.T, by_vote_numpy, finish_numpy)
    assert found.shape == (2, 4, 7)
    for t in range(4):
        for d in range(7):
            moved = levels.copy()
            moved[t, d] += 1e-5
            higher = mixture(head, moved).probabilities[0]
            moved[t, d] -= 2e-5
            slope = (higher - mixture(head, moved).probabilities[0]) / 2e-5
            np.testing.assert_allclose(found[:, t, d], slope[:2], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("with_norm", [True, False])
@pytest.mark.parametrize("with_rectifier", [True, False])
def test_numba_gives_what_numpy_gives(with_rectifier: bool, with_norm: bool, shared: bool) -> None:
    pytest.importorskip("numba")
    from adasent.explain.compiled import by_vote_numba, finish_numba

    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    out, mean, shares = random(3, 6), random(4, 6), random(2, 4)
    rectified = KINK_WIDTH * random(4, 6) if with_rectifier else None
    found, expected = np.empty((2, 2, 4, 6), dtype=np.float32)
    by_vote_numba(out, mean, shares, rectified, found)
    by_vote_numpy(out, mean, shares, rectified, expected)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    pulls, by_belief, levels = random(2, 4), random(1 if shared else 4, 6), random(4, 6)
    for finish, gradients in ((finish_numba, found), (finish_numpy, expected)):
        finish(gradients, pulls, by_belief, levels if with_norm else None)
    np.testing.assert_allclose(found, expected, atol=1e-5)
