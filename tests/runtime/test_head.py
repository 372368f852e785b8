"""Beliefs of each text sum to 1 and mix its levels, however large the scores."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.runtime.head import beliefs, consensus, norm_rows

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


def test_norm_in_numba_is_that_in_numpy() -> None:
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    from adasent.runtime.compiled import NUMBA

    rng = np.random.default_rng(0)
    gain, offset = rng.normal(size=(2, 7)).astype(np.float32)
    # Also rows far from 0, and rows of equal numbers, whose variance is 0.
    levels = rng.normal(size=(9, 7)) + 100 * np.arange(9)[:, None]
    levels[3] = 2.0
    levels = levels.astype(np.float32)
    before = levels.copy()
    found = NUMBA.norm_rows(levels, gain, offset)
    np.testing.assert_allclose(found, norm_rows(levels, gain, offset), rtol=1e-4, atol=2e-4)
    np.testing.assert_array_equal(levels, before)
