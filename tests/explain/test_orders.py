"""Cheap scores: what words add to what comes before and after, on games worked by hand."""

from __future__ import annotations

import numpy as np

from adasent.explain.orders import cheap_scores


def test_a_pair_shares_what_it_does_together() -> None:
    # Two words that do nothing alone and 0.6 together: each is second in one of the orders.
    alone = np.zeros((2, 2))
    together = np.array([0.6, -0.6])
    orders = np.array([[[0, 0], together], [together, [0, 0]]])
    found, errors = cheap_scores(alone, orders, together[None], np.array([0]))
    np.testing.assert_allclose(found, [together / 2, together / 2])
    # Of 0, 0 and 0.6: their deviation over the root of three.
    np.testing.assert_allclose(errors[0], np.std([0, 0, 0.6], ddof=1) / 3**0.5)


def test_scores_fill_up_what_each_text_has() -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([5, 3, 1])
    firsts = np.array([0, 5, 8])
    alone, orders = rng.normal(size=(9, 3)), rng.normal(size=(2, 9, 3))
    for scores in (alone, *orders):
        scores -= scores.mean(axis=1, keepdims=True)
    gain = rng.normal(size=(3, 3))
    gain -= gain.mean(axis=1, keepdims=True)
    found, _ = cheap_scores(alone, orders, gain, firsts)
    for text, (first, n) in enumerate(zip(firsts, lengths, strict=True)):
        own = slice(first, first + n)
        np.testing.assert_allclose(found[own].sum(axis=0), gain[text])
        raw = (alone + orders.sum(axis=0))[own] / 3
        # What was missing is shared by size, alike for all classes.
        shares = np.abs(raw).sum(axis=1) / np.abs(raw).sum()
        missing = gain[text] - raw.sum(axis=0)
        np.testing.assert_allclose(found[own] - raw, np.outer(shares, missing))
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)


def test_words_that_do_nothing_get_nothing() -> None:
    nothing = np.zeros((2, 2))
    found, _ = cheap_scores(nothing, np.zeros((2, 2, 2)), np.zeros((1, 2)), np.array([0]))
    np.testing.assert_array_equal(found, nothing)
