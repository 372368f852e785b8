"""Scores of trained models against exact Shapley values, worked out here from all parts of a text.

The sum, the sign of every word that matters, and the rank of the words, on a hundred short
held-back sentences of MR and of TREC. Drawn scores are judged on the same, and as they are by
default, with their standard errors, on sentences that are just too long to be asked for all parts.
What was measured is printed: ``pytest tests/explain/test_exact.py -s``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from adasent import AdaSentClassifier, Predictor
from adasent.data import load
from adasent.explain import Explanation, explain, shapley
from adasent.runtime.network import Network

pytestmark = [pytest.mark.mirror, pytest.mark.filterwarnings("ignore::UserWarning")]

N_TEXTS, MOST_WORDS = 100, 9
N_LONGER, LONGER_WORDS = 10, range(11, 13)
Trained = tuple[Predictor, list[str], list[np.ndarray]]


@pytest.fixture(scope="module", params=["MR", "TREC"])
def model(mirror: Path, request: pytest.FixtureRequest) -> tuple[Predictor, dict[str, int]]:
    """A model of a few seconds, and sentences that it has not seen with their words."""
    corpus = load(request.param)
    order = np.random.default_rng(0).permutation(len(corpus.texts))
    kept, held = order[:4000], order[4000:]
    clf = AdaSentClassifier(vectors="wiki-50d", hidden_size=50, epochs=3, keep_examples=False)
    clf.fit([corpus.texts[i] for i in kept], [corpus.labels[i] for i in kept])
    predictor = Predictor(Network(*clf._weights()), clf.encoder_, clf.classes_)
    texts = [corpus.texts[i] for i in held]
    return predictor, {
        text: len(ids) for text, ids in zip(texts, predictor.encoder(texts), strict=True)
    }


def with_truth(
    model: tuple[Predictor, dict[str, int]], n_words: range, n_texts: int
) -> tuple[Predictor, list[str], list[np.ndarray]]:
    """The first sentences of so many words, and their exact scores."""
    predictor, lengths = model
    texts = [text for text, n in lengths.items() if n in n_words][:n_texts]
    assert len(texts) == n_texts
    return predictor, texts, [exact(predictor, text) for text in texts]


@pytest.fixture(scope="module")
def trained(model: tuple[Predictor, dict[str, int]]) -> Trained:
    return with_truth(model, range(2, MOST_WORDS + 1), N_TEXTS)


def exact(predictor: Predictor, text: str) -> np.ndarray:
    """(T, C) by the definition: over all sizes, the mean of what a word adds to such parts."""
    tokens = predictor.trace(text).tokens
    n = len(tokens)
    numbers = np.arange(2**n)
    parts = [[token for i, token in enumerate(tokens) if k >> i & 1] for k in numbers.tolist()]
    says = predictor.predict_proba([" ".join(part) for part in parts])
    sizes = np.array([len(part) for part in parts])
    scores = []
    for word in range(n):
        without = numbers[(numbers >> word & 1) == 0]
        adds, size = says[without + 2**word] - says[without], sizes[without]
        scores.append(np.mean([adds[size == k].mean(axis=0) for k in range(n)], axis=0))
    return np.array(scores)


def judged(trained: Trained, found: list[Explanation]) -> tuple[float, float, float]:
    """Share of right signs among words that matter, mean rank correlation, and root mean square."""
    _, _, expected = trained
    signs, ranks, squares = [], [], []
    for one, truth in zip(found, expected, strict=True):
        best = int(one.probabilities.argmax())
        mine, true = one.words[:, best].round(6), truth[:, best].round(6)
        signs.append((np.sign(mine) == np.sign(true))[np.abs(true) > 0.05])
        ranks.append(spearmanr(mine, true).statistic if np.ptp(true) and np.ptp(mine) else np.nan)
        squares.append(np.mean((one.words - truth) ** 2))
        gain = one.probabilities - one.base
        assert np.abs(one.words.sum(axis=0) - gain).max() < 1e-4
    shares = float(np.concatenate(signs).mean()), float(np.nanmean(ranks)), np.mean(squares) ** 0.5
    n_large = len(np.concatenate(signs))
    names = ("signs", "rank correlation", "off by")
    shown = ", ".join(f"{name} {share:.4f}" for name, share in zip(names, shares, strict=True))
    print(f"\n{n_large} words that matter: {shown}")
    return shares


def test_by_default_short_texts_are_exact(trained: Trained) -> None:
    predictor, texts, _ = trained
    signs, ranks, off = judged(trained, explain(predictor, texts))
    assert (signs, off) == (1, pytest.approx(0, abs=1e-5))
    assert ranks > 0.999


@pytest.fixture
def drawn(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Explanation]]:
    """Explain as if the texts were long."""
    monkeypatch.setattr(shapley, "ALL_PARTS", 3)
    monkeypatch.setattr(shapley, "UNITS", 2_000)  # a tenth: these texts are a third as long
    predictor, texts, _ = trained
    return lambda: explain(predictor, texts)


def test_drawn_scores_are_faithful(
    trained: Trained, drawn: Callable[[], list[Explanation]]
) -> None:
    signs, ranks, off = judged(trained, drawn())
    assert signs > 0.95
    assert ranks > 0.95
    assert off < 0.02


def test_longer_texts_are_near_the_truth_and_say_how_near(
    model: tuple[Predictor, dict[str, int]],
) -> None:
    predictor, texts, expected = longer = with_truth(model, LONGER_WORDS, N_LONGER)
    found = explain(predictor, texts)
    signs, ranks, off = judged(longer, found)
    assert signs > 0.95
    assert ranks > 0.95
    assert off < 0.015
    away = [np.abs(one.words - truth) for one, truth in zip(found, expected, strict=True)]
    errors = [one.errors for one in found]
    within = np.mean(np.concatenate(away) < 2 * np.concatenate(errors) + 1e-6)
    size = np.mean(np.concatenate(errors) ** 2) ** 0.5
    print(f"within two errors: {within:.3f}; the error is {size:.4f}")
    assert within > 0.85
    assert size < 3 * off  # errors that are always large enough would say nothing
    for one, again in zip(found, explain(predictor, texts), strict=True):
        np.testing.assert_array_equal(one.words, again.words)


def test_cheap_scores_have_the_right_signs(trained: Trained) -> None:
    predictor, texts, _ = trained
    signs, ranks, off = judged(trained, explain(predictor, texts, method="fast"))
    assert signs > 0.9
    assert ranks > 0.7
    assert off < 0.12


@pytest.mark.parametrize("spoiled", ["nothing", "zero", "neighbour"])
def test_a_middle_word_that_is_wrong_would_be_seen(trained: Trained, spoiled: str) -> None:
    """What the tests above hold against spoiled scores."""
    predictor, texts, _ = trained
    found = explain(predictor, texts)
    for one in found:
        middle = len(one.tokens) // 2
        if spoiled == "zero":
            one.words[0] += one.words[middle]
            one.words[middle] = 0
        elif spoiled == "neighbour":
            one.words[[middle - 1, middle]] = one.words[[middle, middle - 1]]
    signs, ranks, off = judged(trained, found)
    assert (signs > 0.95 and ranks > 0.95 and off < 0.02) == (spoiled == "nothing")
