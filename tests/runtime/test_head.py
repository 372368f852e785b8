"""Beliefs of each text sum to 1 and mix its levels, however large the scores."""

from __future__ import annotations

import numpy as np

from adasent.runtime.head import beliefs, consensus

FIRSTS = np.array([0, 3, 4])  # texts of 3, 1 and 2 levels


def test_beliefs_are_a_softmax_within_each_text() -> None:
    found = beliefs(np.array([0.0, np.log(2), 0.0, -7.0, 1000.0, 0.0]), FIRSTS)
    np.testing.assert_allclose(found, [0.25, 0.5, 0.25, 1, 1, 0])


def test_consensus_is_the_mixture() -> None:
    shares = np.array([[0.2, 0.4, 0.6, 0.3, 0.0, 1.0], [0.8, 0.6, 0.4, 0.7, 1.0, 0.0]])
    with np.errstate(divide="ignore"):
        log_probs = np.log(shares)
    found = consensus(np.array([0.5, 0.25, 0.25, 1.0, 0.5, 0.5]), log_probs, FIRSTS)
    np.testing.assert_allclose(found, [[0.35, 0.3, 0.5], [0.65, 0.7, 0.5]])
