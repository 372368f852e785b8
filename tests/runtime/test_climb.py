"""The climb: three words by hand, numpy against numba, and what is kept against the traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.pyramid.layout import Layout
from adasent.runtime.climb import NUMPY, Composition, Memory, build_level, climb, pool_level

# Two orders of the same float32 sums, carried up 20 levels by gates that sharpen what differs:
# 1.3e-5 was seen. A mistake of a lane or a group is larger by orders of magnitude.
CLOSE = 1e-4

LENGTHS = [[1], [2], [1, 1, 1], [9, 4, 4, 2, 1, 1], [3, 3, 3]]


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def random_case(
    lengths: list[int],
    *,
    relu: bool = False,
    maximum: bool = True,
    size: int = 6,
    n_groups: int = 1,
    height: int | None = None,
) -> tuple[Any, ...]:
    """Words, their product, where they lie, and weights."""
    rng = np.random.default_rng(0)
    matrix = draw(rng, size, 2 * size + 4 * n_groups) * np.sqrt(6 / size).astype(np.float32)
    weights = matrix, draw(rng, size), draw(rng, 2 * n_groups)
    composition = Composition(*weights, None, None, relu=relu, maximum=maximum)
    layout = Layout(np.array(lengths), height)
    words = draw(rng, layout.n_words, size)
    return words, words @ composition.matrix, layout, composition


def test_three_words_by_hand() -> None:
    below = np.array([[1.0], [2.0], [-1.0]], dtype=np.float32)
    # W_L = 1, W_R = 0.5, G_L = (1, 0, 0), G_R = (0, 0, 1), b_W = 0.1, b_G = (0, 1, 0); of the
    # gates' weights, the first two less the third.
    matrix = np.array([[1, 0.5, 1, 0, -1, -1]], dtype=np.float32)
    above, pooled, gates = (np.empty(shape, np.float32) for shape in ((2, 1), (1, 1), (2, 3)))
    biases = np.array([0.1], np.float32), np.array([0, 1], np.float32)
    counts = np.array([1, 1, 1])
    build_level(
        below, below @ matrix, *biases, None, None, counts, above, pooled, gates, None, True, None
    )
    for left, right, unit, share in zip([1, 2], [2, -1], above[:, 0], gates, strict=True):
        powers = np.exp([left, 1, right])
        np.testing.assert_allclose(share, powers / powers.sum(), rtol=1e-6)
        composed = np.tanh(left + 0.5 * right + 0.1)
        np.testing.assert_allclose(unit, share @ [left, right, composed], rtol=1e-6)
    assert pooled[0, 0] == above.max()


@pytest.mark.parametrize("maximum", [False, True])
def test_pooling_by_hand(maximum: bool) -> None:
    # Texts of 3, 2 and 1 units.
    level = np.array([[1], [2], [3], [4], [5], [6]], dtype=np.float32)
    pooled = np.full((3, 1), np.nan, dtype=np.float32)
    pool_level(level, np.array([3, 2, 1]), pooled, maximum)
    expected = [6, 5, 3] if maximum else [11 / 3, 7 / 2, 3]
    np.testing.assert_allclose(pooled[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("n_groups", "height"), [(1, None), (3, None), (1, 3), (6, 2)])
def test_numba_gives_what_numpy_gives(
    lengths: list[int],
    relu: bool,
    maximum: bool,
    keep: bool,
    n_groups: int,
    height: int | None,
) -> None:
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    from adasent.runtime.compiled import NUMBA

    shape: dict[str, Any] = {"n_groups": n_groups, "height": height}
    case = random_case(lengths, relu=relu, maximum=maximum, **shape)
    for found, expected in zip(
        climb(*case, NUMBA, keep=keep), climb(*case, NUMPY, keep=keep), strict=True
    ):
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("size", [16, 48, 100])
@pytest.mark.parametrize("share", [1, 2, 4, 16, 0])
def test_numba_gives_what_numpy_gives_for_any_number_of_groups(size: int, share: int) -> None:
    # Groups that fill lanes of 16 numbers, fall short of them or end within them.
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    from adasent.runtime.compiled import NUMBA

    n_groups = size // share if share and size % share == 0 else 1
    case = random_case([20, 9, 4, 4, 2, 1, 1, 1, 1], size=size, n_groups=n_groups)
    for found, expected in zip(
        climb(*case, NUMBA, keep=True), climb(*case, NUMPY, keep=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=CLOSE)


def test_what_was_in_memory_changes_nothing() -> None:
    words, product, layout, composition = random_case([9, 4, 4, 2, 1, 1])
    memory = Memory(composition, layout.n_words + 3)
    for array in (memory.units, memory.products):
        array[:] = np.nan
    kept = climb(words, product, layout, composition, NUMPY, keep=True)
    found = climb(words, product, layout, composition, NUMPY, memory)
    np.testing.assert_array_equal(found.levels, kept.levels)
    assert (len(found.units), len(found.gates)) == (0, 0)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pooling": "mean", "activation": "relu"},
        {"hidden_size": 6, "gate_groups": 3, "max_height": 3},
    ],
)
def test_what_is_kept_of_a_batch_is_the_trace_of_each_text(
    make_pair: Callable[..., Any], settings: dict[str, Any], backend: str
) -> None:
    network = make_pair(**settings).network
    lengths = np.array([6, 4, 4, 2, 1])
    ids = np.random.default_rng(1).integers(1, 12, size=int(lengths.sum()))
    words, layout = network.words(ids), Layout(lengths, network.config.max_height)
    which = np.empty_like(words.which)
    which[layout.word_rows] = words.which
    passes = network.passes(lengths)
    assert passes.name == backend
    first = words.units[which], words.products[which]
    found = climb(*first, layout, network.composition, passes, keep=True)
    for text, own in enumerate(np.split(ids, layout.first_word[1:-1])):
        trace = network.trace([""] * len(own), own)
        assert len(trace.units) == layout.n_levels_of[text]
        for t in range(len(trace.units)):
            rows = layout.rows(np.array([text]), t)[0]
            np.testing.assert_allclose(found.units[rows], trace.units[t], atol=1e-6)
            pooled = found.levels[layout.starts[t] + text]
            np.testing.assert_allclose(pooled, trace.levels[t], atol=1e-6)
            if t:
                gates = found.gates[rows - layout.n_words]
                np.testing.assert_allclose(gates, trace.gates[t - 1], atol=1e-6)
