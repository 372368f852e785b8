"""Where texts are cut when the user does not say, and what is told of it."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.text.cutting import MAX_WORDS, MOST, SHORT, Cut, cut_length, cut_of, share_of_few


def lengths(**given: int) -> np.ndarray:
    """``w20=95``: 95 texts of 20 words."""
    return np.repeat([int(name[1:]) for name in given], list(given.values()))


@pytest.mark.parametrize(
    "given",
    [
        lengths(w1=500, w120=5),  # a few are long for these, but short
        lengths(w200=100),
        lengths(w700=100),  # long, but all alike
        lengths(w20=50, w1500=50),  # long ones are no exception
        lengths(w5=18, w3000=1),  # one of less than twenty
        np.random.default_rng(0).lognormal(5.3, 0.6, 5000).astype(int),  # as film reviews are
    ],
)
def test_texts_are_read_whole(given: np.ndarray) -> None:
    assert cut_length(given) == MAX_WORDS


@pytest.mark.parametrize("height", [None, 8, 30])
def test_a_few_long_texts_take_half_at_most(height: int | None) -> None:
    given = lengths(w60=950, w1900=50)
    assert share_of_few(given, height) > MOST
    found = cut_length(given, height)
    assert SHORT < found < MAX_WORDS
    assert share_of_few(np.minimum(given, found), height) <= MOST
    assert share_of_few(np.minimum(given, found + 1), height) > MOST


def test_more_is_read_where_it_costs_less() -> None:
    given = lengths(w60=950, w1900=50)
    assert cut_length(given, 8) > cut_length(given)


def test_nothing_below_200_words_is_cut() -> None:
    assert cut_length(lengths(w1=990, w1900=10)) == SHORT


def test_what_is_lost_is_counted() -> None:
    tokens = [["a"] * n for n in (0, 3, 10, 12)]
    assert cut_of(tokens, 10) == Cut(10, 1, 26, 2, 0.0, 10)
    assert cut_of(tokens, None) == Cut(MAX_WORDS, 0, 26, 0, 0.0, 12)
