"""Explanations against torch, against the prediction, and of odd texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adasent
from adasent.errors import AdaSentError, AdaSentWarning, DataError
from adasent.explain import explain, explainer
from adasent.text.tokenize import kim

TEXTS = [
    "a good film",
    "the plot was bad and the cast was dull",
    "film",
    "and zebra a",
    "was the film good and the plot bad",
    "a bad film",
]


def assert_same(one: Any, other: Any, atol: float = 1e-5) -> None:
    """Two explanations of a text agree."""
    assert (one.text, one.tokens, one.offsets) == (other.text, other.tokens, other.offsets)
    for name in ("probabilities", "beliefs", "level_probabilities", "words"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=atol)
    for name in ("gates", "unit_scores", "unit_probabilities"):
        rows, expected = getattr(one, name).rows, getattr(other, name).rows
        np.testing.assert_allclose(rows, expected, atol=atol, err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pooling": "mean", "activation": "relu", "level_norm": False},
        {"local_gate": "mlp", "level_gate": "mlp", "classifier_size": 0},
        {"hidden_size": 6, "gate_groups": 3},
        {"hidden_size": 6, "gate_groups": 6, "max_height": 3, "pooling": "mean"},
        {"max_height": 1},
        {"max_height": 2},
        {"multilabel": True},
        {"multilabel": True, "pooling": "mean", "max_height": 2},
    ],
)
def test_equals_torch(
    make_twin: Callable[..., Any], settings: dict[str, Any], backend: str
) -> None:
    twin = make_twin(**settings)
    for one in explain(twin.predictor, TEXTS, method="fast"):
        expected = twin.reference(twin.predictor.encoder([one.text])[0])
        for name in ("probabilities", "base", "beliefs", "level_probabilities", "words"):
            np.testing.assert_allclose(getattr(one, name), expected[name], atol=1e-5)
        n_levels = min(len(one.tokens), settings.get("max_height", len(one.tokens)))
        assert len(one.gates) == n_levels - 1
        assert len(one.unit_scores) == len(one.beliefs) == n_levels
        for name in ("gates", "unit_scores"):
            for t, level in enumerate(getattr(one, name)):
                np.testing.assert_allclose(level, expected[name][t], atol=1e-5, err_msg=name)


def test_agrees_with_prediction_and_trace(twin: Any, backend: str) -> None:
    found = explain(twin.predictor, TEXTS)
    p = twin.predictor.predict_proba(TEXTS)
    np.testing.assert_allclose([one.probabilities for one in found], p, atol=1e-6)
    assert [one.predicted for one in found] == twin.predictor.predict(TEXTS).tolist()
    for one, trace in zip(found, twin.predictor.trace(TEXTS), strict=True):
        np.testing.assert_allclose(one.beliefs, trace.beliefs, atol=1e-6)
        np.testing.assert_allclose(one.contributions.sum(axis=0), one.probabilities, atol=1e-6)
        np.testing.assert_allclose(one.words.sum(axis=1), 0, atol=1e-6)
        for votes, units in zip(one.unit_probabilities, trace.units, strict=True):
            head = twin.predictor.network.head
            expected = np.exp(head.log_probs(head.normalise(units))).T
            np.testing.assert_allclose(votes, expected, atol=1e-6)
        for gates, expected in zip(one.gates, trace.gates, strict=True):
            np.testing.assert_allclose(gates, expected.mean(axis=2), atol=1e-6)


def test_order_and_company_change_nothing(
    twin: Any, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = explain(twin.predictor, TEXTS)
    for one, text in zip(together, TEXTS, strict=True):
        assert_same(one, explain(twin.predictor, text), atol=1e-6)
    for one, other in zip(together, explain(twin.predictor, TEXTS[::-1])[::-1], strict=True):
        assert_same(one, other, atol=1e-6)
    monkeypatch.setattr(explainer, "BATCH_WORDS", 1)
    for one, other in zip(together, explain(twin.predictor, TEXTS), strict=True):
        assert_same(one, other, atol=1e-6)


def test_a_word_alone_is_explained_by_itself(twin: Any) -> None:
    one = explain(twin.predictor, "film")
    empty = twin.predictor.network.probabilities([np.array([1])])[0]
    np.testing.assert_allclose(one.words[0], one.probabilities - empty, atol=1e-6)
    np.testing.assert_allclose(one.unit_scores[0], one.words, atol=1e-6)
    np.testing.assert_allclose(one.phrases[0].score, one.words[0], atol=1e-6)
    assert (len(one.gates), len(one.unit_scores), one.beliefs.tolist()) == (0, 1, [1.0])


def test_good_speaks_for_and_awful_against(predictor: adasent.Predictor) -> None:
    one = explain(predictor, "the plot was awful and a good film")
    scores = dict(zip(one.tokens, one.words[:, one.column("pos")], strict=True))
    assert max(scores, key=scores.__getitem__) == "good"
    assert min(scores, key=scores.__getitem__) == "awful"
    for_neg = one.contrast("neg", "pos").phrases[0]
    assert "awful" in for_neg.text


def test_methods_of_predictor_delegate(twin: Any) -> None:
    assert_same(twin.predictor.explain("a film"), explain(twin.predictor, "a film"))
    assert twin.predictor.explain([]) == []


def test_odd_texts(twin: Any) -> None:
    with pytest.warns(AdaSentWarning, match=r"of 3 texts: 1 longer .* 1 without a word"):
        empty, long, odd = explain(
            twin.predictor, [" \t", "good " * 40, "<script>\ta\u0301 \U0001f600 film</script>"]
        )
    assert (empty.tokens, empty.offsets) == (("<unk>",), ((0, 0),))
    assert (empty.n_words, empty.truncated) == (0, False)
    assert (len(long.tokens), long.n_words, long.truncated) == (30, 40, True)
    assert long.offsets[-1] == (145, 149)
    assert [odd.text[s:e] for s, e in odd.offsets] == list(odd.tokens)
    assert "a\u0301" in odd.tokens


def test_exactly_as_many_words_as_are_read(twin: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = explain(twin.predictor, "good " * 30)
    assert (one.n_words, one.truncated) == (30, False)


def test_characters_that_kim_drops_are_passed_over(make_twin: Callable[..., Any]) -> None:
    one = explain(make_twin(tokenizer=kim).predictor, "A caf\u00e9 \u2014 DON'T, don't.")
    assert one.tokens == ("a", "caf", "don't", ",", "do", "n't")
    assert [one.text[s:e] for s, e in one.offsets] == ["A", "caf", "DON'T", ",", "do", "n't"]


def test_what_is_no_text_is_refused(twin: Any) -> None:
    with pytest.raises(DataError, match="at position 1"):
        explain(twin.predictor, ["a", None])


def test_a_network_that_overflows_is_told(make_twin: Callable[..., Any], backend: str) -> None:
    twin = make_twin()
    head = twin.predictor.network.head.tensors
    head["classifier.out.weight"] = np.full_like(head["classifier.out.weight"], np.inf)
    with pytest.raises(AdaSentError, match="overflows"):
        explain(twin.predictor, ["a film"])


@pytest.mark.parametrize("method", ["shapley", "fast"])
@pytest.mark.parametrize(
    "settings", [{}, {"pooling": "mean"}, {"max_height": 2}, {"multilabel": True}]
)
def test_everything_adds_up(
    make_twin: Callable[..., Any], settings: dict[str, Any], method: str, backend: str
) -> None:
    texts = [*TEXTS, "the plot was bad and the cast was dull and the film was not a good one zebra"]
    for one in explain(make_twin(**settings).predictor, texts, method=method):
        gain = one.probabilities - one.base
        assert np.abs(gain).max() > 0.01
        for parts in (one.words, one.level_scores, one.phrases.found.scores):
            np.testing.assert_allclose(parts.sum(axis=0), gain, atol=1e-5)
            if "multilabel" not in settings:
                np.testing.assert_allclose(parts.sum(axis=1), 0, atol=1e-6)
        np.testing.assert_array_equal(one.unit_scores[0], one.words)
        for units, level in zip(one.unit_scores[1:], one.level_scores[1:], strict=True):
            np.testing.assert_allclose(units.sum(axis=0), level, atol=1e-6)
        covered = sorted(i for phrase in one.phrases for i in range(phrase.start, phrase.end))
        assert covered == list(range(len(one.tokens)))


def test_the_base_is_what_is_said_of_no_word(predictor: adasent.Predictor) -> None:
    with pytest.warns(AdaSentWarning, match="without a word"):
        empty = predictor.predict_proba([""])[0]
    np.testing.assert_allclose(explain(predictor, "good film").base, empty, atol=1e-6)


def test_an_unknown_method_is_refused(twin: Any) -> None:
    with pytest.raises(ValueError, match="method must be one of shapley, fast; got 'leave-out'"):
        explain(twin.predictor, "a film", method="leave-out")


def test_very_long_texts_get_the_cheap_scores(make_twin: Callable[..., Any]) -> None:
    predictor = make_twin(max_height=3).predictor
    predictor.encoder.max_words = 2000
    texts = ["good film " * 1000, "a bad film " * 60, "a good film"]
    *found, short = explain(predictor, texts)
    for one, other in zip(found, explain(predictor, texts[:2], method="fast"), strict=True):
        long = len(one.tokens) > 200
        assert (one.method == other.method) == long
        assert one.errors.max() > 0
        np.testing.assert_allclose(one.words.sum(axis=0), one.probabilities - one.base, atol=1e-4)
        if long:
            np.testing.assert_allclose(one.words, other.words, atol=1e-6)
        assert sum(phrase.end - phrase.start for phrase in one.phrases) == len(one.tokens)
    assert not short.errors.any()
