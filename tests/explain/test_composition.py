"""Weights sum to 1 and the parts make up the unit, exactly; three words by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent import AdaSentClassifier, load
from adasent.errors import DataError
from adasent.explain.composition import Structure, decompose, decompose_phrase, structures
from adasent.runtime.climb import Composition

RNG = np.random.default_rng(0)


def composition(
    size: int, *, relu: bool = False, width: int | None = None, n_groups: int = 1
) -> Composition:
    n = width or 2 * n_groups
    draw = RNG.normal
    return Composition(
        draw(size=(size, 2 * size + 2 * n)).astype(np.float32),
        draw(size=size).astype(np.float32),
        draw(size=n).astype(np.float32),
        draw(size=(2 * n_groups, n)).astype(np.float32) if width else None,
        draw(size=2 * n_groups).astype(np.float32) if width else None,
        relu=relu,
        maximum=True,
    )


@pytest.mark.parametrize("n_words", [1, 2, 3, 5, 8, 30])
@pytest.mark.parametrize(("relu", "width"), [(False, None), (True, None), (False, 4)])
@pytest.mark.parametrize("n_groups", [1, 4, 8])
def test_weights_sum_to_one_and_parts_make_the_unit(
    n_words: int, relu: bool, width: int | None, n_groups: int
) -> None:
    weights = composition(8, relu=relu, width=width, n_groups=n_groups)
    found = decompose(RNG.normal(size=(n_words, 8)), weights)
    assert len(found.parts) == n_words * (n_words + 1) // 2
    total = sum(part.weights for part in found.parts)
    np.testing.assert_allclose(total, np.ones(n_groups), rtol=0, atol=1e-10)
    assert all((part.weights >= 0).all() for part in found.parts)
    np.testing.assert_allclose(found.reproduced(), found.unit, atol=1e-10)
    # Every way down is left or right until it stops: 2^t - 1 of them.
    assert sum(part.n_ways for part in found.parts) == 2**n_words - 1


def test_three_words_by_hand() -> None:
    # One dimension, no composition matrices: h~ = tanh(1); gates fixed at 0.5, 0.3, 0.2.
    matrix = np.zeros((1, 6), dtype=np.float32)
    gates = np.log(np.array([0.5, 0.3]) / 0.2).astype(np.float32)
    one = np.ones(1, dtype=np.float32)
    weights = Composition(matrix, one, gates, None, None, relu=False, maximum=True)
    found = decompose(np.array([[1.0], [2.0], [3.0]]), weights)
    shares = {(part.start, part.length): part.weight for part in found.parts}
    expected = {
        (0, 1): 0.5 * 0.5,
        (1, 1): 0.5 * 0.3 + 0.3 * 0.5,
        (2, 1): 0.3 * 0.3,
        (0, 2): 0.5 * 0.2,
        (1, 2): 0.3 * 0.2,
        (0, 3): 0.2,
    }
    assert shares == pytest.approx(expected, abs=1e-7)
    assert found.unit[0] == pytest.approx(0.25 + 2 * 0.3 + 3 * 0.09 + 0.36 * np.tanh(1), abs=1e-7)
    assert {(p.start, p.length): p.n_ways for p in found.parts}[1, 1] == 2


def test_trees_of_three_words() -> None:
    weights = composition(5)
    words = RNG.normal(size=(3, 5))
    trees = structures(words, weights)
    assert len(trees) == 12
    assert abs(sum(tree.weight for tree in trees) - 1) < 1e-10
    assert [t.weight for t in trees] == sorted((t.weight for t in trees), reverse=True)
    by_tree = {structure.tree: structure for structure in trees}
    exact_weights = weights.in_double()
    inner = exact_weights.composed(words[:1], words[1:2])
    np.testing.assert_allclose(by_tree[(0, 1)].vector, inner[0])
    outer = exact_weights.composed(inner, words[2:])
    np.testing.assert_allclose(by_tree[((0, 1), 2)].vector, outer[0])
    # Words have the weights of the exact decomposition; so has everything composed, together.
    exact = decompose(words, weights)
    for part in exact.parts[:3]:
        assert by_tree[part.start].weight == pytest.approx(part.weight, abs=1e-12)


def test_trees_of_two_words_are_exact() -> None:
    weights = composition(5)
    words = RNG.normal(size=(2, 5))
    total = sum(t.weight * t.vector for t in structures(words, weights))
    np.testing.assert_allclose(total, decompose(words, weights).unit, atol=1e-12)


def all_trees(first: int, last: int) -> set[Any]:
    """By the recursion itself: a tree of either child, or a pair of them."""
    if first == last:
        return {first}
    left, right = all_trees(first, last - 1), all_trees(first + 1, last)
    return left | right | {(one, other) for one in left for other in right}


def test_trees_of_groups_sum_to_one_in_each() -> None:
    trees = structures(RNG.normal(size=(3, 6)), composition(6, n_groups=3))
    np.testing.assert_allclose(sum(tree.weights for tree in trees), np.ones(3), atol=1e-10)


def test_four_words_are_the_most() -> None:
    weights = composition(2)
    trees: list[Structure] = structures(RNG.normal(size=(4, 2)), weights)
    assert abs(sum(tree.weight for tree in trees) - 1) < 1e-10
    assert len(trees) == 148
    assert {tree.tree for tree in trees} == all_trees(0, 3)
    with pytest.raises(DataError, match="at most 4 words, got 5"):
        structures(RNG.normal(size=(5, 2)), weights)


def test_a_phrase_of_a_saved_model(reviews: tuple[list[str], list[str]], tmp_path: Path) -> None:
    texts, labels = reviews
    clf = AdaSentClassifier(hidden_size=8, vector_size=8, classifier_size=8, epochs=2)
    clf.fit(texts[:40], labels[:40]).save(tmp_path / "model")
    predictor = load(tmp_path / "model")
    tokens, found = decompose_phrase(predictor, "a lovely film")
    assert tokens == ("a", "lovely", "film")
    trace = predictor.trace("a lovely film")
    np.testing.assert_allclose(found.unit, trace.units[2][0], atol=1e-5)
    np.testing.assert_allclose(found.gates[1], trace.gates[1], atol=1e-5)
    assert abs(sum(part.weight for part in found.parts) - 1) < 1e-10
