"""Scores of words that add up, against Shapley values worked out here from orders and parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from adasent import Predictor
from adasent.explain import METHODS, Explanation, explain
from adasent.explain.shapley import ALL_PARTS, LEAVE_OUT, Worth, shapley_values

pytestmark = pytest.mark.filterwarnings("ignore:of .* text")


def of_sets(game: Callable[[tuple[int, ...]], list[float]]) -> Worth:
    """A game over sets of words as what masks are worth."""
    return lambda masks: np.array([game(tuple(np.flatnonzero(mask).tolist())) for mask in masks])


def by_orders(game: Callable[[tuple[int, ...]], list[float]], n: int) -> np.ndarray:
    """(n, C) Shapley values, by their definition: the mean over all orders of what a word adds."""
    scores: np.ndarray = np.zeros((n, len(game(()))))
    orders = list(itertools.permutations(range(n)))
    for order in orders:
        for i, word in enumerate(order):
            before = tuple(sorted(order[:i]))
            with_it = tuple(sorted(order[: i + 1]))
            scores[word] += np.subtract(game(with_it), game(before))
    return scores / len(orders)


def negated(words: tuple[int, ...]) -> list[float]:
    """Word 1 turns word 2 when both are there; word 3 matters with no other, word 0 never."""
    value = 0.3 + 0.4 * (2 in words) * (-1 if 1 in words else 1) + 0.2 * (words == (3,))
    return [value, 1 - value]


def test_the_definition() -> None:
    found = shapley_values(of_sets(negated), 4)
    np.testing.assert_allclose(found.words, by_orders(negated, 4), atol=1e-12)
    np.testing.assert_allclose(found.base, [0.3, 0.7])
    assert not found.errors.any()
    # "not" loses what "bad" gains, and the word that never matters has only the share of chance.
    assert found.words[1, 0] == pytest.approx(-0.4 - 0.2 / 12)


@pytest.mark.parametrize("n", [ALL_PARTS + 1, 20, LEAVE_OUT, 50])
def test_words_that_do_not_touch_each_other_are_exact(n: int) -> None:
    own = np.random.default_rng(0).normal(size=(n, 3))
    found = shapley_values(lambda masks: 0.5 + masks @ own, n)
    np.testing.assert_allclose(found.words, own, atol=1e-3)
    np.testing.assert_allclose(found.words.sum(axis=0), own.sum(axis=0), atol=1e-9)
    assert found.errors.max() < 1e-3


@pytest.mark.parametrize("n", [12, 20, LEAVE_OUT, 50])
def test_drawn_scores_are_near_those_that_can_be_worked_out(n: int) -> None:
    # Five words in two groups that matter together; Shapley's values of such a game are known.
    def worth(masks: np.ndarray) -> np.ndarray:
        both, three = masks[:, 2] & masks[:, 5], masks[:, [1, 7, n - 1]].all(axis=1)
        value = 0.1 + 0.4 * both - 0.3 * three + 0.2 * masks[:, 0]
        return np.stack([value, 1 - value], axis=1)

    expected = np.zeros(n)
    expected[[2, 5]], expected[[1, 7, n - 1]], expected[0] = 0.2, -0.1, 0.2
    found = shapley_values(worth, n)
    off = found.words[:, 0] - expected
    assert np.sqrt(np.mean(off**2)) < 0.03
    # The error is that of a word like the others: of the few that matter here it is too small.
    assert np.mean(np.abs(off) < 3 * found.errors[:, 0] + 1e-9) > 0.8
    np.testing.assert_allclose(found.words.sum(axis=0), [0.3, -0.3], atol=1e-9)
    np.testing.assert_allclose(found.words.sum(axis=1), 0, atol=1e-9)
    again = shapley_values(worth, n)
    np.testing.assert_array_equal(again.words, found.words)


def parts_of(predictor: Predictor, tokens: list[str]) -> np.ndarray:
    """(2^T, C) what the model says of each part of a text; bit i of its number is word i."""
    texts = [
        " ".join(token for i, token in enumerate(tokens) if number >> i & 1)
        for number in range(2 ** len(tokens))
    ]
    return predictor.predict_proba(texts)


def by_parts(values: np.ndarray, n: int) -> np.ndarray:
    """(n, C) Shapley values of all parts, size by size: the mean of means over equal sizes."""
    numbers = np.arange(2**n)
    size = np.array([number.bit_count() for number in numbers.tolist()])
    scores = np.zeros((n, values.shape[1]))
    for word in range(n):
        without = numbers[(numbers >> word & 1) == 0]
        gains = values[without + 2**word] - values[without]
        scores[word] = np.mean([gains[size[without] == k].mean(axis=0) for k in range(n)], axis=0)
    return scores


SENTENCES = [
    "good",
    "not good",
    "a good plot and a bad film",
    "the film was not good and not bad",
    "zebra film",
    "bad bad bad good",
]


def test_short_texts_are_exact(predictor: Predictor) -> None:
    for one in explain(predictor, SENTENCES):
        values = parts_of(predictor, list(one.tokens))
        expected = by_parts(values, len(one.tokens))
        np.testing.assert_allclose(one.words, expected, atol=2e-6)
        np.testing.assert_allclose(one.base, values[0], atol=1e-6)
        np.testing.assert_allclose(one.base + one.words.sum(axis=0), one.probabilities, atol=1e-5)
        assert one.method == METHODS["shapley"]
        again = Explanation.from_json(one.to_json())
        assert again.to_dict() == one.to_dict()


def test_middle_words_of_longer_texts_are_faithful(predictor: Predictor) -> None:
    texts = [
        "the plot was good and the cast was not bad at all",
        "a bad film and a dull plot but the cast was not bad",
        "not a good film and not a good plot the cast was dull",
    ]
    for one in explain(predictor, texts):
        n = len(one.tokens)
        assert n > ALL_PARTS
        expected = by_parts(parts_of(predictor, list(one.tokens)), n)
        large = np.abs(expected[:, 0]) > 0.05
        assert (np.sign(one.words[:, 0]) == np.sign(expected[:, 0]))[large].all()
        assert np.corrcoef(one.words[:, 0], expected[:, 0])[0, 1] > 0.98
        off = one.words - expected
        assert np.sqrt(np.mean(off**2)) < 0.03
        assert one.errors is not None
        assert (np.abs(off) < 4 * one.errors).all()
        np.testing.assert_allclose(one.base + one.words.sum(axis=0), one.probabilities, atol=1e-5)


def test_a_text_without_words_adds_nothing(predictor: Predictor) -> None:
    one = explain(predictor, "")
    assert one.tokens == ("<unk>",)
    np.testing.assert_allclose(one.words, 0, atol=1e-6)
    np.testing.assert_allclose(one.base, one.probabilities, atol=1e-6)
