"""Ranked phrases: worked by hand, and the same from numpy and numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adasent.explain.attribution import Attribution
from adasent.explain.phrases import ranked_numpy
from adasent.explain.places import Places
from adasent.text.batch import n_cells


def attribution(lengths: list[int], scores: np.ndarray, cores: np.ndarray, p: np.ndarray) -> Any:
    places = Places.of(np.array(lengths))
    nothing = np.empty(0)
    return Attribution(
        places, nothing, nothing, nothing, p, scores, nothing, cores[:, 0], cores[:, 1]
    )


def random_attribution(lengths: list[int], seed: int) -> Attribution:
    rng = np.random.default_rng(seed)
    cores = []
    for n in lengths:
        for t in range(n):
            for j in range(n - t):
                start = j + rng.integers(t + 1)
                cores.append((start, start + 1 + rng.integers(j + t + 1 - start)))
    n_units = int(n_cells(np.array(lengths)).sum())
    scores = rng.normal(size=(3, n_units)).astype(np.float32) ** 3
    p = rng.dirichlet(np.ones(3), size=len(lengths))
    return attribution(lengths, scores, np.array(cores), p)


def test_units_of_one_core_are_one_phrase() -> None:
    # Two words a and b; the unit above them is a copy of b.
    scores = np.array([[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3]], dtype=np.float32)
    cores = np.array([[0, 1], [1, 2], [1, 2]])
    found = attribution([2], scores, cores, np.array([[0.9, 0.1]]))
    bounds, sums, ends = ranked_numpy(found)
    assert bounds.tolist() == [[1, 2, 2], [0, 1, 1]]  # the unit of level 2 is the strongest of b
    np.testing.assert_allclose(sums, [[0.5, -0.5], [0.1, -0.1]], atol=1e-7)
    assert ends.tolist() == [0, 2]


@pytest.mark.parametrize("lengths", [[1], [2, 1, 1], [9, 7, 7, 3, 1], [40]])
def test_numba_gives_what_numpy_gives(lengths: list[int]) -> None:
    pytest.importorskip("numba")
    from adasent.explain.phrases_numba import ranked_numba

    for seed in range(3):
        found = random_attribution(lengths, seed)
        for ours, expected in zip(ranked_numba(found), ranked_numpy(found), strict=True):
            np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_scores_that_are_all_zero() -> None:
    pytest.importorskip("numba")
    from adasent.explain.phrases_numba import ranked_numba

    found = random_attribution([3, 2], 0)
    found.unit_scores[:] = 0
    for ours, expected in zip(ranked_numba(found), ranked_numpy(found), strict=True):
        assert ours.shape == expected.shape
