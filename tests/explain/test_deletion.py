"""Scores of words that are left out one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.explain import EXACT, METHOD, Explanation, deletion, explain

pytestmark = pytest.mark.filterwarnings("ignore:of . texts")
TEXTS = ["good", "", "not good", "a good plot and a bad film", "zebra film", "bad plot bad"]


@pytest.mark.parametrize("settings", [{}, {"pooling": "mean"}])
@pytest.mark.parametrize("chunk", [1, 100_000])
def test_every_word_is_exact(
    make_twin: Callable[..., Any],
    settings: dict[str, Any],
    chunk: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletion, "CHUNK", chunk)
    predictor = make_twin(**settings).predictor
    empty = predictor.predict_proba([""])[0]
    for one in explain(predictor, TEXTS, exact=True):
        assert one.method == EXACT
        tokens = [] if not one.text else list(one.tokens)
        share = min(1, 1.5 / max(1, len(tokens)))
        p = predictor.predict_proba([one.text])[0]
        for i, token in enumerate(tokens):
            left = " ".join(tokens[:i] + tokens[i + 1 :])
            without, alone = predictor.predict_proba([left, token])
            expected = share * (alone - empty) + (1 - share) * (p - without)
            np.testing.assert_allclose(one.words[i], expected, atol=1e-6)
        np.testing.assert_allclose(one.words.sum(axis=1), 0, atol=1e-6)
        assert Explanation.from_json(one.to_json()).method == EXACT


def test_all_but_the_words_stays_as_it_is(make_twin: Callable[..., Any]) -> None:
    predictor = make_twin().predictor
    pairs = zip(explain(predictor, TEXTS), explain(predictor, TEXTS, exact=True), strict=True)
    for estimated, exact in pairs:
        assert estimated.method == METHOD
        np.testing.assert_array_equal(estimated.unit_scores.rows, exact.unit_scores.rows)
        np.testing.assert_array_equal(estimated.contributions, exact.contributions)
        assert estimated.phrases == exact.phrases
        for i in {0, len(estimated.tokens) - 1}:  # exact either way
            np.testing.assert_allclose(estimated.words[i], exact.words[i], atol=1e-6)
