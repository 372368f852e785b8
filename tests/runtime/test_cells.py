"""A level in numpy: three words by hand, and the same as numba's on ragged batches."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.runtime.cells import left_children, level_numpy, pool_numpy


def test_three_words_by_hand() -> None:
    below = np.array([[1.0], [2.0], [-1.0]], dtype=np.float32)
    # W_L = 1, W_R = 0.5, G_L = (1, 0, 0), G_R = (0, 0, 1), b_W = 0.1, b_G = (0, 1, 0).
    matrix = np.array([[1, 0.5, 1, 0, 0, 0, 0, 1]], dtype=np.float32)
    above = np.empty((2, 1), dtype=np.float32)
    gates = np.empty((2, 3), dtype=np.float32)
    bias, gate_bias = np.array([0.1], np.float32), np.array([0, 1, 0], np.float32)
    level_numpy(
        below, below @ matrix, bias, gate_bias, np.array([1, 1, 1]), above, gates, relu=False
    )
    for left, right, unit, share in zip([1, 2], [2, -1], above[:, 0], gates, strict=True):
        powers = np.exp([left, 1, right])
        np.testing.assert_allclose(share, powers / powers.sum(), rtol=1e-6)
        composed = np.tanh(left + 0.5 * right + 0.1)
        np.testing.assert_allclose(unit, share @ [left, right, composed], rtol=1e-6)


def test_left_children_skip_the_ends_of_texts() -> None:
    # Three texts of 4, 3 and 1 words: blocks of 3, 2, 2 and 1 rows.
    rows = [np.arange(*stretch) for stretch in left_children(np.array([3, 2, 2, 1]))]
    assert np.concatenate(rows).tolist() == [0, 1, 3, 4, 5]


@pytest.mark.parametrize("counts", [[1, 1], [4, 4, 4], [5, 3, 3, 1, 1], [7, 1], [3, 2, 1]])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("maximum", [False, True])
def test_same_as_numba(counts: list[int], relu: bool, maximum: bool) -> None:
    pytest.importorskip("numba")
    from adasent.pyramid import cells

    rng = np.random.default_rng(0)
    size, below_counts = 9, np.array(counts)
    n_rows, n_cells = below_counts.sum(), below_counts[1:].sum()
    below = rng.normal(size=(n_rows, size)).astype(np.float32)
    product = rng.normal(size=(n_rows, 2 * size + 6)).astype(np.float32)
    bias = rng.normal(size=size).astype(np.float32), rng.normal(size=3).astype(np.float32)

    def poisoned(*shape: int) -> np.ndarray:
        return np.full(shape, np.nan, dtype=np.float32)

    above, gates, pooled = poisoned(n_cells, size), poisoned(n_cells, 3), poisoned(counts[1], size)
    level_numpy(below, product, *bias, below_counts, above, gates, relu=relu)
    pool_numpy(above, below_counts[1:], pooled, maximum=maximum)
    expected = poisoned(n_cells, size), poisoned(counts[1], size), poisoned(n_cells, 3)
    cells.level_forward(
        below,
        product,
        *bias,
        below_counts,
        *expected[:2],
        None,
        expected[2],
        relu=relu,
        maximum=maximum,
    )
    for found, wanted in zip((above, pooled, gates), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("maximum", [False, True])
def test_pooling_by_hand(maximum: bool) -> None:
    # Texts of 3, 2 and 1 units.
    level = np.array([[1], [2], [3], [4], [5], [6]], dtype=np.float32)
    pooled = np.full((3, 1), np.nan, dtype=np.float32)
    pool_numpy(level, np.array([3, 2, 1]), pooled, maximum=maximum)
    expected = [6, 5, 3] if maximum else [11 / 3, 7 / 2, 3]
    np.testing.assert_allclose(pooled[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("counts", [[3], [1, 1, 1], [4, 4, 3, 1], [2, 2]])
def test_all_levels_in_one_call_are_those_of_one_at_a_time(
    counts: list[int], relu: bool, maximum: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    from adasent.pyramid import cells
    from adasent.runtime import pyramid

    rng = np.random.default_rng(1)
    size, n_words = 5, sum(counts)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    weights = draw(size, 2 * size + 6), draw(size), draw(3)
    composition = pyramid.Composition(*weights, None, None, relu=relu, maximum=maximum)
    words = draw(n_words, size)
    found = []
    for has_scipy in (True, False):
        monkeypatch.setattr(pyramid, "has_scipy", lambda has_scipy=has_scipy: has_scipy)
        levels = np.full((n_words, size), np.nan, dtype=np.float32)
        scratch = pyramid.Scratch(composition, n_words + 2)
        first = words, words @ weights[0], np.array(counts)
        pyramid.pool_levels(*first, composition, levels, scratch, cells)
        found.append(levels)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-5)
