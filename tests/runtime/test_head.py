"""Beliefs of each text sum to 1 and mix its levels, however large the scores."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.errors import AdaSentError
from adasent.runtime.head import LevelHead, beliefs, consensus, norm_rows, settled

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


def test_several_labels_are_a_sigmoid_each() -> None:
    head = LevelHead(
        {"classifier.out.weight": np.eye(2, dtype=np.float32), "classifier.out.bias": np.zeros(2)},
        multilabel=True,
    )
    levels = np.array([[0.0, np.log(4)], [-200.0, 200.0]], dtype=np.float32)
    np.testing.assert_allclose(np.exp(head.log_probs(levels)), [[0.5, 0], [0.8, 1]], atol=1e-7)
    assert np.isfinite(head.log_probs(levels)).all()


def test_what_overflows_is_an_error_and_rounding_is_taken_out() -> None:
    one = settled(np.array([[0.3, 0.1]]), multilabel=False)
    np.testing.assert_allclose(one, [[0.75, 0.25]])
    several = settled(np.array([[1 + 1e-15, 0.1], [0.0, 0.0]]), multilabel=True)
    assert several.tolist() == [[1.0, 0.1], [0.0, 0.0]]
    for multilabel in (True, False):
        with pytest.raises(AdaSentError, match="overflows"):
            settled(np.array([[np.nan, 0.1]]), multilabel=multilabel)
    weight = np.full((1, 1), 1e38, dtype=np.float32)
    head = LevelHead(
        {"classifier.out.weight": weight, "classifier.out.bias": np.zeros(1, np.float32)},
        multilabel=True,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        said = head.log_probs(np.full((1, 1), 1e38, dtype=np.float32))
    assert np.isnan(said).all()  # not certain: the mixture then is an error
