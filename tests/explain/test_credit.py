"""Credit in numpy and in numba, and what it must add up to."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.explain.credit import credit_numpy


def case(n_words: int, *, maximum: bool, n_kept: int = 2) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n_words)
    n_cells = n_words * (n_words + 1) // 2
    units = rng.normal(size=(n_cells, 3, 5)).astype(np.float32)
    gates = rng.dirichlet([1, 1, 1], size=(n_cells - n_words, 3)).astype(np.float32)
    gates = gates.reshape(n_cells - n_words, 3, 3)
    levels = np.empty((n_words, 3, 5), dtype=np.float32)
    cell = 0
    for t in range(n_words):
        level = units[cell : cell + n_words - t]
        levels[t] = level.max(axis=0) if maximum else level.mean(axis=0)
        cell += n_words - t
    gradients = rng.normal(size=(n_kept, n_words, 3, 5)).astype(np.float32)
    return units, levels, gates, gradients


@pytest.mark.parametrize("maximum", [True, False])
@pytest.mark.parametrize("n_words", [1, 2, 3, 9])
def test_numba_gives_what_numpy_gives(n_words: int, maximum: bool) -> None:
    pytest.importorskip("numba")
    from adasent.explain.credit_numba import credit_numba

    arrays = case(n_words, maximum=maximum)
    expected = credit_numpy(*arrays, maximum=maximum)
    found = credit_numba(*arrays, maximum=maximum)
    for one, other, name in zip(found, expected, expected._fields, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=name)


def test_a_single_class_has_no_scores_to_tell_apart() -> None:
    found = credit_numpy(*case(3, maximum=True, n_kept=0), maximum=True)
    assert found.units.shape == (3, 6, 0)
    assert found.words.shape == (3, 3, 0)


def test_units_of_a_mean_pooled_level_share_its_gradient() -> None:
    units, levels, gates, gradients = case(4, maximum=False)
    found = credit_numpy(units, levels, gates, gradients, maximum=False)
    mean = units[:4].mean(axis=0)
    cell = 0
    for t in range(4):
        whole = np.einsum("kbd,bd->bk", gradients[:, t], levels[t] - mean)
        part = found.units[:, cell : cell + 4 - t].sum(axis=1)
        np.testing.assert_allclose(part, whole, atol=1e-5)
        cell += 4 - t


def test_a_dimension_belongs_to_the_units_at_or_near_its_maximum() -> None:
    # One dimension, two words far apart and their unit: all of a level's credit goes to its owner.
    units = np.array([[[0.0]], [[5.0]], [[4.98]]], dtype=np.float32)
    levels = np.array([[[5.0]], [[4.98]]], dtype=np.float32)
    gates = np.array([[[0.0, 1.0, 0.0]]], dtype=np.float32)
    gradients = np.ones((1, 2, 1, 1), dtype=np.float32)
    found = credit_numpy(units, levels, gates, gradients, maximum=True)
    np.testing.assert_allclose(found.units[0, :, 0], [0, 2.5, 2.48], atol=1e-5)
    # The unit above is a copy of the second word, which gets the credit of both levels.
    np.testing.assert_allclose(found.words[0, :, 0], [0, 5.0], atol=1e-5)
    assert (found.starts[0, 2], found.stops[0, 2]) == (1, 2)
