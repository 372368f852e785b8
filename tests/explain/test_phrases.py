"""Ranked phrases: worked by hand, and against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.explain.attribution import Attribution
from adasent.explain.phrases import MIN_STRENGTH, ranked_phrases
from adasent.pyramid.layout import Layout
from explain_cases import level_and_first_word


def attribution(
    lengths: list[int], scores: np.ndarray, cores: np.ndarray, p: np.ndarray
) -> Attribution:
    layout, empty = Layout(np.array(lengths)), np.empty(0)
    return Attribution(layout, empty, empty, empty, p, scores, empty, cores[:, 0], cores[:, 1])


def random_attribution(lengths: list[int], seed: int) -> Attribution:
    rng = np.random.default_rng(seed)
    cores = []
    for t, j in zip(*level_and_first_word(lengths), strict=True):
        start = j + rng.integers(t + 1)
        cores.append((start, start + 1 + rng.integers(j + t + 1 - start)))
    scores = rng.normal(size=(3, len(cores))).astype(np.float32) ** 3
    p = rng.dirichlet(np.ones(3), size=len(lengths))
    return attribution(lengths, scores, np.array(cores), p)


def test_units_of_one_core_are_one_phrase() -> None:
    # Two words a and b; the unit above them is a copy of b.
    scores = np.array([[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3]], dtype=np.float32)
    cores = np.array([[0, 1], [1, 2], [1, 2]])
    found = attribution([2], scores, cores, np.array([[0.9, 0.1]]))
    ((bounds, sums),) = ranked_phrases(found)
    assert bounds.tolist() == [[1, 2, 2], [0, 1, 1]]  # the unit of level 2 is the strongest of b
    np.testing.assert_allclose(sums, [[0.5, -0.5], [0.1, -0.1]], atol=1e-7)


@pytest.mark.parametrize("lengths", [[1], [2, 1, 1], [9, 7, 7, 3, 1], [40]])
@pytest.mark.parametrize("seed", range(3))
def test_same_as_a_plain_loop(lengths: list[int], seed: int) -> None:
    found = random_attribution(lengths, seed)
    ranked = ranked_phrases(found)
    assert len(ranked) == len(lengths)
    level, _ = level_and_first_word(lengths)
    for text, (bounds, sums) in enumerate(ranked):
        own = range(*found.layout.first_unit[text : text + 2])
        strength = {unit: np.abs(found.unit_scores[:, unit]).max() for unit in own}
        weakest = np.float32(MIN_STRENGTH) * max(strength.values())
        by_core: dict[tuple[int, int], list[int]] = {}
        for unit in own:
            if strength[unit] >= weakest:
                core = int(found.starts[unit]), int(found.stops[unit])
                by_core.setdefault(core, []).append(unit)
        assert {tuple(bound[:2]) for bound in bounds.tolist()} == set(by_core)
        for (start, stop, highest), total in zip(bounds.tolist(), sums, strict=True):
            units = by_core[start, stop]
            expected = found.unit_scores[:, units].astype(np.float64).sum(axis=1)
            np.testing.assert_allclose(total, expected, atol=1e-9)
            assert highest == level[max(units, key=strength.__getitem__)] + 1
        for_predicted = sums[:, found.probabilities[text].argmax()]
        assert (np.diff(for_predicted) <= 0).all()


def test_scores_that_are_all_zero() -> None:
    found = random_attribution([3, 2], 0)
    found.unit_scores[:] = 0
    for bounds, sums in ranked_phrases(found):
        assert len(bounds) == len(sums) > 0
        assert not sums.any()
