"""MNB and NB-SVM against the formulas of Wang & Manning (2012), and their settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators import counts as nb
from adasent.estimators.counts import MNBClassifier, MNBConfig, NBSVMClassifier, NBSVMConfig
from adasent.estimators.one_go import OneGoClassifier

TEXTS = ["good good plot", "good film", "bad plot", "dull"]
LABELS = ["+", "+", "+", "-"]
WORDS = ["bad", "dull", "film", "good", "plot"]
#: Which of the words each text has.
PRESENT = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1, 0, 0, 0, 1], [0, 1, 0, 0, 0]])


def log_ratio(present: np.ndarray, positive: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """r of the paper."""
    p, q = (alpha + present[side].sum(axis=0) for side in (positive, ~positive))
    return np.log((p / p.sum()) / (q / q.sum()))


def log_odds(clf: OneGoClassifier, texts: list[str]) -> np.ndarray:
    found = clf.predict_proba(texts)
    return np.log(found[:, 1] / found[:, 0])


def weights(clf: OneGoClassifier) -> dict[tuple[str, ...], Any]:
    return {ngram: clf.model_.coef[:, i] for ngram, i in clf.model_.ngrams.items()}


# -- MNB -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_mnb_of_two_classes_is_the_rule_of_the_paper(alpha: float) -> None:
    labels = [{"+": 1, "-": 0}[label] for label in LABELS]
    clf = MNBClassifier(max_ngram=1, alpha=alpha).fit(TEXTS, labels)
    r = log_ratio(PRESENT, np.array(labels) == 1, alpha)
    np.testing.assert_allclose(log_odds(clf, TEXTS), PRESENT @ r + np.log(3 / 1), rtol=1e-6)
    # By hand, alpha = 1: p = (2, 1, 2, 3, 3) / 11, q = (1, 2, 1, 1, 1) / 6.
    if alpha == 1.0:
        by_hand = np.log(3 / 11 * 6) + np.log(2 / 11 * 6) + np.log(3)
        assert log_odds(clf, ["a good film"])[0] == pytest.approx(by_hand, rel=1e-6)


def test_mnb_of_many_classes_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    present = rng.random((60, 5)) < 0.4
    present[~present.any(axis=1), 0] = True
    labels = rng.integers(0, 3, 60)
    importance = rng.random(60) + 0.5
    texts = [" ".join(np.array(WORDS)[row]) for row in present]
    expected = MultinomialNB(alpha=0.5).fit(present, labels, importance).predict_proba(present)
    clf = MNBClassifier(max_ngram=1, alpha=0.5).fit(texts, labels, importance)
    np.testing.assert_allclose(clf.predict_proba(texts), expected, rtol=1e-5)


def test_an_ngram_counts_once_in_a_text() -> None:
    clf = MNBClassifier().fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        clf.predict_proba(["film film film"]), clf.predict_proba(["film film"])
    )


# -- n-grams -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (1, {("not",), ("so",), ("good",)}),
        (2, {("not",), ("so",), ("good",), ("not", "so"), ("so", "good")}),
        (5, {("not",), ("so",), ("good",), ("not", "so"), ("so", "good"), ("not", "so", "good")}),
    ],
)
def test_ngrams_up_to_a_length(longest: int, expected: set[tuple[str, ...]]) -> None:
    clf = MNBClassifier(max_ngram=longest).fit(["not so good", "good"], [0, 1])
    assert set(clf.model_.ngrams) == expected


def test_pairs_tell_apart_what_words_cannot() -> None:
    texts = ["not bad just good", "not good just bad"] * 3
    labels = ["+", "-"] * 3
    for kind in (MNBClassifier, NBSVMClassifier):
        assert kind(max_ngram=2).fit(texts, labels).score(texts, labels) == 1.0
        alike = kind(max_ngram=1).fit(texts, labels).predict_proba(texts[:2])
        np.testing.assert_array_equal(alike[0], alike[1])


def test_a_token_with_a_space_is_not_a_pair() -> None:
    clf = MNBClassifier(tokenizer=lambda text: text.split("|")).fit(
        ["new york|new|york", "new"], [0, 1]
    )
    assert ("new york",) in clf.model_.ngrams
    assert ("new", "york") in clf.model_.ngrams


# -- NB-SVM --------------------------------------------------------------------------------------


def expected_weights(positive: np.ndarray, beta: float, C: float) -> np.ndarray:
    """w' of the paper, times the ratio."""
    r = log_ratio(PRESENT, positive)
    svm = LinearSVC(C=C, dual=True, fit_intercept=False, max_iter=10_000, tol=1e-8, random_state=0)
    w = svm.fit(PRESENT * r, positive).coef_[0]
    return np.asarray(((1 - beta) * np.abs(w).mean() + beta * w) * r)


@pytest.mark.parametrize(("beta", "C"), [(0.25, 1.0), (1.0, 1.0), (0.0, 0.3)])
def test_nbsvm_of_two_classes_is_the_rule_of_the_paper(beta: float, C: float) -> None:
    labels = np.array([1, 1, 1, 0])
    clf = NBSVMClassifier(max_ngram=1, beta=beta, C=C).fit(TEXTS, labels)
    margins = PRESENT @ expected_weights(labels == 1, beta, C)
    np.testing.assert_allclose(log_odds(clf, TEXTS), margins, rtol=0.01)


def test_nbsvm_of_three_classes_is_one_against_the_rest() -> None:
    labels = np.array([0, 2, 1, 2])
    clf = NBSVMClassifier(max_ngram=1).fit(TEXTS, labels)
    found = weights(clf)
    for c in range(3):
        expected = expected_weights(labels == c, 0.25, 1.0)
        np.testing.assert_allclose(
            [found[(word,)][c] for word in WORDS], expected, rtol=0.02, atol=1e-4
        )
    scores = PRESENT @ np.array([found[(word,)] for word in WORDS])
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(TEXTS), expected, rtol=1e-6)


def test_beta_zero_ranks_as_naive_bayes_without_prior() -> None:
    mnb = MNBClassifier().fit(TEXTS, LABELS)
    clf = NBSVMClassifier(beta=0.0).fit(TEXTS, LABELS)
    ratio = np.array([row[1] - row[0] for row in weights(mnb).values()])
    found = np.array([row[1] - row[0] for row in weights(clf).values()])
    np.testing.assert_allclose(found / ratio, found[0] / ratio[0], rtol=1e-5)


def test_unfinished_svms_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nb, "_MAX_ITER", 1)
    with pytest.warns(AdaSentWarning, match="the SVM of 3 of 3 classes did not converge") as told:
        NBSVMClassifier(C=100.0).fit(TEXTS, [0, 2, 1, 2])
    assert len(told) == 1
    assert told[0].filename == __file__


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_ngram", 0), ("max_ngram", 6), ("max_ngram", 2.0), ("alpha", 0), ("alpha", True)],
)
def test_settings_of_both_out_of_range(name: str, value: Any) -> None:
    for kind, config in ((MNBClassifier, MNBConfig), (NBSVMClassifier, NBSVMConfig)):
        with pytest.raises(ConfigError, match=name):
            config(**{name: value})
        with pytest.raises(ConfigError, match=name):
            kind(**{name: value}).fit(TEXTS, LABELS)


@pytest.mark.parametrize(("name", "value"), [("beta", -0.1), ("beta", 1.1), ("C", 0.0)])
def test_settings_of_nbsvm_out_of_range(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        NBSVMClassifier(**{name: value}).fit(TEXTS, LABELS)
