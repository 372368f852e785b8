"""Thresholds are the best for a class's F1, and those of rare classes keep to what all have."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import f1_score

from adasent.estimators.thresholds import COMMON, best_threshold, fit_thresholds


def test_the_best_threshold_worked_by_hand() -> None:
    # Taking one: F1 2/3; three: 2 * 2 / 5 = 0.8; all four: 2 * 2 / 6. It is midway to the next.
    found = best_threshold(np.array([0.8, 0.6, 0.5, 0.2]), np.array([True, False, True, False]))
    assert found == 0.35


def test_no_other_threshold_is_better() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(200) < 0.3
    probabilities = np.clip(0.3 * truth + rng.normal(0.3, 0.2, 200), 0, 1).round(2)  # with ties
    best = f1_score(truth, probabilities >= best_threshold(probabilities, truth))
    every = [
        f1_score(truth, probabilities >= one, zero_division=0) for one in np.arange(0, 1, 0.005)
    ]
    assert best == max(every)


def test_without_a_true_one_it_is_a_half() -> None:
    assert best_threshold(np.array([0.9, 0.1]), np.array([False, False])) == 0.5
    none = np.zeros((2, 2), dtype=bool)
    np.testing.assert_allclose(fit_thresholds(np.array([[0.9, 0.1], [0.2, 0.3]]), none), 0.5)


def test_a_frequent_class_has_its_own_threshold_and_a_rare_one_that_of_all() -> None:
    rng = np.random.default_rng(0)
    truth = np.zeros((4000, 2), dtype=bool)
    truth[:2000, 0] = True
    truth[:1, 1] = True
    found = np.stack([0.15 + 0.1 * truth[:, 0], 0.01 + 0.95 * truth[:, 1]], axis=1)
    found += rng.uniform(0, 0.01, found.shape)
    frequent, rare = fit_thresholds(found, truth)
    common = best_threshold(found.ravel(), truth.ravel())
    own = best_threshold(found[:, 1], truth[:, 1])
    assert 0.16 < frequent < 0.25
    assert abs(rare - common) < 0.1 < abs(rare - own)
    assert COMMON > 1  # texts of a class that weigh as much


def test_thresholds_lie_inside_of_0_and_1() -> None:
    found = fit_thresholds(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[True, True]] * 2))
    assert ((found > 0) & (found < 1)).all()
