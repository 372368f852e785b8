"""Temperatures that are known, and calibration errors worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from adasent.training.calibration import (
    Votes,
    calibration_error,
    fit_temperature,
    log_loss,
    measure,
    reliability,
)


def one_level(scores: np.ndarray) -> Votes:
    n = len(scores)
    return Votes(np.zeros(n), log_softmax(scores, axis=1), np.arange(n))


def drawn(n: int, temperature: float, seed: int = 0) -> tuple[Votes, np.ndarray]:
    """Texts whose scores are ``temperature`` times what they should be, and their labels."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (n, 3))
    true = [rng.choice(3, p=row) for row in softmax(scores, axis=1)]
    return one_level(temperature * scores), np.eye(3)[true]


def test_mixture_of_levels_by_hand() -> None:
    beliefs = np.log([0.25, 0.75, 1.0])
    said = np.log([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    votes = Votes(beliefs, said, np.array([0, 2]))
    assert votes.mixture() == pytest.approx(np.array([[0.5, 0.5], [0.9, 0.1]]))
    # At T = 1/2 each level's probabilities are squared: .64 : .04 and .16 : .36.
    first = 0.25 * 0.64 / 0.68 + 0.75 * 0.16 / 0.52
    assert votes.mixture(0.5)[0] == pytest.approx([first, 1 - first])


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.0])
def test_a_known_temperature_is_found(temperature: float) -> None:
    votes, targets = drawn(5000, temperature)
    found = fit_temperature(votes, targets, np.ones(5000))
    assert found == pytest.approx(temperature, rel=0.08)
    after = measure(votes.mixture(found), targets, np.ones(5000))
    assert after["calibration_error"] < 0.02
    assert after["log_loss"] <= measure(votes.mixture(), targets, np.ones(5000))["log_loss"]


def test_few_texts_move_it_little() -> None:
    scores = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    found = fit_temperature(one_level(scores), np.eye(2)[[0, 1, 0]], np.ones(3))
    assert 0.9 < found < 1  # all are right, so that without anything held against it T were 0


def test_where_nothing_tells_it_is_one() -> None:
    same = one_level(np.zeros((4, 2)))
    assert fit_temperature(same, np.eye(2)[[0, 1, 0, 1]], np.ones(4)) == pytest.approx(1, abs=1e-3)
    alone = Votes(np.zeros(3), np.zeros((3, 1)), np.arange(3))
    assert fit_temperature(alone, np.ones((3, 1)), np.ones(3)) == pytest.approx(1, abs=1e-3)


def test_texts_without_weight_have_no_say() -> None:
    votes, targets = drawn(400, 2.0)
    weights = np.ones(400)
    weights[200:] = 0
    half = Votes(votes.log_beliefs[:200], votes.log_probs[:200], votes.firsts[:200])
    assert log_loss(votes.mixture(), targets, weights) == pytest.approx(
        log_loss(half.mixture(), targets[:200], np.ones(200))
    )
    wrong = np.roll(targets, 1, axis=1)
    mixed = np.where(weights[:, None] > 0, targets, wrong)
    assert fit_temperature(votes, mixed, weights) == fit_temperature(votes, targets, weights)


def test_calibration_error_by_hand() -> None:
    """Bins of a tenth: two texts at 0.55 and 0.58, one of them right; one at 1, right."""
    bins = reliability(np.array([0.55, 0.58, 1.0]), np.array([1, 0, 1]), 10)
    assert [one.n for one in bins] == [0, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    assert bins[5].confidence == pytest.approx(0.565)
    assert (bins[5].accuracy, bins[0].accuracy) == (0.5, None)
    assert calibration_error(bins) == pytest.approx(2 / 3 * 0.065)


def test_soft_labels_are_right_by_their_share() -> None:
    found = measure(np.array([[0.75, 0.25]]), np.array([[0.75, 0.25]]), np.ones(1))
    assert (found["accuracy"], found["calibration_error"]) == (0.75, pytest.approx(0))
