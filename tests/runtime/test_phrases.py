"""A phrase cache changes no probability, composes a phrase once, and stays within its bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.runtime.phrases import LONGEST, PhraseCache

N_WORDS = 12


def cached(pair: Any, capacity: int) -> PhraseCache:
    return PhraseCache(capacity, pair.network.composition, N_WORDS)


def make_texts(n: int = 60) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.integers(0, N_WORDS, size=length) for length in rng.integers(1, 15, size=n)]


@pytest.mark.parametrize(
    "settings", [{}, {"local_gate": "mlp", "pooling": "mean", "activation": "relu"}]
)
@pytest.mark.parametrize("capacity", [2, 50, 10_000])
def test_same_probabilities(
    make_pair: Callable[..., Any], settings: dict[str, Any], capacity: int, backend: str
) -> None:
    pair, texts = make_pair(**settings), make_texts()
    phrases = cached(pair, capacity)
    expected = pair.network.probabilities(texts)
    for part in (slice(0, 20), slice(20, None), slice(0, None)):  # the last one finds a full cache
        found = pair.network.probabilities(texts[part], phrases)
        np.testing.assert_allclose(found, expected[part], rtol=0, atol=1e-6)


def test_a_phrase_is_composed_once_in_a_batch(make_pair: Callable[..., Any]) -> None:
    pair = make_pair()
    phrases = cached(pair, 100)
    pair.network.probabilities([np.array([3, 4, 3, 4, 3])], phrases)
    # 34 43 34 43, 343 434 343, 3434 4343
    assert (phrases.n_asked, phrases.n_composed) == (4 + 3 + 2, 2 + 2 + 2)


def test_a_phrase_is_composed_once_in_all_batches(make_pair: Callable[..., Any]) -> None:
    pair, texts = make_pair(), make_texts()
    phrases = cached(pair, 10_000)
    pair.network.probabilities(texts, phrases)
    distinct = {
        tuple(text[i : i + n].tolist())
        for n in range(2, LONGEST + 1)
        for text in texts
        for i in range(len(text) - n + 1)
    }
    assert phrases.n_composed == len(distinct)
    pair.network.probabilities([text[1:] for text in texts if len(text) > 1], phrases)
    assert phrases.n_composed == len(distinct)


def test_the_last_phrases_used_are_remembered(make_pair: Callable[..., Any]) -> None:
    pair = make_pair()
    phrases = cached(pair, 4)

    def composed(*words: int) -> int:
        before = phrases.n_composed
        pair.network.probabilities([np.array(words)], phrases)
        return phrases.n_composed - before

    assert composed(1, 2) == composed(3, 4) == composed(5, 6) == 1
    assert composed(1, 2) == 0  # in the older half; moves to the younger one, which is full now
    assert composed(7, 8) == 1
    assert composed(1, 2) == composed(5, 6) == 0
    assert composed(3, 4) == 1  # forgotten


def test_words_alone_need_no_phrases(make_pair: Callable[..., Any]) -> None:
    pair = make_pair()
    phrases = cached(pair, 4)
    found = pair.network.probabilities([np.array([3]), np.array([4])], phrases)
    np.testing.assert_allclose(found, pair.network.probabilities([np.array([3]), np.array([4])]))
    assert phrases.n_asked == 0
