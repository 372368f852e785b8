"""Credit in numpy and in numba, and what it must add up to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from adasent.explain.credit import Credit, credit_numpy
from adasent.pyramid.layout import Layout
from adasent.runtime.climb import Pyramids
from explain_cases import level_and_first_word


class Case(NamedTuple):
    pyramids: Pyramids
    layout: Layout
    gradients: np.ndarray


def case(
    lengths: list[int],
    *,
    maximum: bool,
    n_kept: int = 2,
    n_groups: int = 1,
    height: int | None = None,
) -> Case:
    """Random units, pooled, with random gates and gradients."""
    rng = np.random.default_rng(len(lengths))
    layout = Layout(np.array(lengths), height)
    n_words, n_units = layout.n_words, layout.n_units
    units = rng.normal(size=(n_units, 6)).astype(np.float32)
    levels = np.empty((layout.n_pooled, 6), dtype=np.float32)
    level_of, _ = level_and_first_word(lengths, height)
    for text in range(len(lengths)):
        units_of_text = slice(*layout.first_unit[text : text + 2])
        for t in range(layout.n_levels_of[text]):
            level = units[layout.unit_rows[units_of_text][level_of[units_of_text] == t]]
            pooled = level.max(axis=0) if maximum else level.mean(axis=0)
            levels[layout.starts[t] + text] = pooled
    gates = rng.dirichlet([1, 1, 1], size=(n_units - n_words, n_groups)).astype(np.float32)
    gradients = rng.normal(size=(n_kept, layout.n_pooled, 6)).astype(np.float32)
    return Case(Pyramids(levels, units, gates.swapaxes(1, 2)), layout, gradients)


def assert_same(found: Credit, expected: Credit) -> None:
    for one, other, name in zip(found, expected, expected._fields, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("maximum", [True, False])
@pytest.mark.parametrize("lengths", [[1], [2], [3, 3], [9, 4, 4, 1]])
@pytest.mark.parametrize(("n_groups", "height"), [(1, None), (3, None), (2, 3), (6, 1)])
def test_numba_gives_what_numpy_gives(
    lengths: list[int], maximum: bool, n_groups: int, height: int | None
) -> None:
    pytest.importorskip("numba")
    from adasent.explain.compiled import credit_numba

    arrays = case(lengths, maximum=maximum, n_groups=n_groups, height=height)
    assert_same(credit_numba(*arrays, maximum=maximum), credit_numpy(*arrays, maximum=maximum))


def test_a_single_class_has_no_scores_to_tell_apart() -> None:
    found = credit_numpy(*case([3, 2], maximum=True, n_kept=0), maximum=True)
    assert found.units.shape == (0, 9)
    assert found.words.shape == (0, 5)


def test_units_of_a_mean_pooled_level_share_its_gradient() -> None:
    pyramids, layout, gradients = case([4], maximum=False)
    found = credit_numpy(pyramids, layout, gradients, maximum=False)
    mean = pyramids.units[:4].mean(axis=0)
    for t in range(4):
        whole = gradients[:, t] @ (pyramids.levels[t] - mean)
        part = found.units[:, level_and_first_word([4])[0] == t].sum(axis=1)
        np.testing.assert_allclose(part, whole, atol=1e-5)


def test_a_dimension_belongs_to_the_units_at_or_near_its_maximum() -> None:
    # One dimension, two words far apart and their unit: all of a level's credit goes to its owner.
    units = np.array([[0.0], [5.0], [4.98]], dtype=np.float32)
    levels = np.array([[5.0], [4.98]], dtype=np.float32)
    gates = np.array([[[0.0], [1.0], [0.0]]], dtype=np.float32)
    gradients = np.ones((1, 2, 1), dtype=np.float32)
    layout = Layout(np.array([2]))
    found = credit_numpy(Pyramids(levels, units, gates), layout, gradients, maximum=True)
    np.testing.assert_allclose(found.units[0], [0, 2.5, 2.48], atol=1e-5)
    # The unit above is a copy of the second word, which gets the credit of both levels.
    np.testing.assert_allclose(found.words[0], [0, 5.0], atol=1e-5)
    assert (found.starts[2], found.stops[2]) == (1, 2)
