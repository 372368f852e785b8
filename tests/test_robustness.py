"""Odd texts and labels: each row of docs/edge-cases.md, as a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adasent import AdaSentClassifier
from adasent.errors import AdaSentError, AdaSentWarning, DataError

Reviews = tuple[list[str], list[str]]


def tiny(**changes: Any) -> AdaSentClassifier:
    sizes = {"hidden_size": 4, "vector_size": 4, "classifier_size": 4, "epochs": 2}
    return AdaSentClassifier(**(sizes | changes))


@pytest.fixture(scope="module")
def clf(reviews: Reviews) -> AdaSentClassifier:
    return tiny().fit(*reviews)


def assert_probabilities(found: np.ndarray, n: int, n_classes: int = 2) -> None:
    assert found.shape == (n, n_classes)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-9)


# -- texts to predict ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "good",
        "zyzzyva",
        "😀👍🏽🏳️‍🌈",
        "good\0film\0",
        "\0",
        "\ud800 good \udfff",
        "\ud800",
        "<pad> <unk>",
        "a\u0301\u0301\u0301",
        "x" * 10_000_000,
        "the film " * 1000,
    ],
    ids=lambda text: f"{len(text)}-{text[:6]!a}",
)
def test_a_probability_for_any_text(clf: AdaSentClassifier, text: str) -> None:
    assert_probabilities(clf.predict_proba([text]), 1)


@pytest.mark.parametrize("text", ["", " \t\n", "\u2003"])
def test_text_without_a_word_is_one_unknown_word(clf: AdaSentClassifier, text: str) -> None:
    with pytest.warns(AdaSentWarning, match="of 1 text: 1 without a word"):
        found = clf.predict_proba([text])
    np.testing.assert_array_equal(found, clf.predict_proba(["zyzzyva"]))


def test_ten_megabytes_of_words_are_cut(clf: AdaSentClassifier) -> None:
    with pytest.warns(AdaSentWarning, match="1 longer than max_words=2000, cut there"):
        found = clf.predict_proba(["a " * 5_000_000])
    np.testing.assert_array_equal(found, clf.predict_proba(["a " * 2000]))


def test_long_texts_with_a_height(reviews: Reviews, tmp_path: Path) -> None:
    texts, labels = reviews
    long = " ".join(texts * 50).split()[:2000]
    with pytest.warns(AdaSentWarning, match="of 121 texts: 1 longer than max_words=372, cut there"):
        cut = tiny(max_height=5).fit([*texts, " ".join(long)], [*labels, labels[0]])
    assert cut.max_words is None  # as it was passed, for clone
    assert cut.encoder_.max_words == cut.training_["cut"]["max_words"] == 372
    assert cut.training_["cut"]["n_lost"] == 2000 - 372
    clf = tiny(max_height=5, max_words=2000).fit([*texts, " ".join(long)], [*labels, labels[0]])
    assert clf.training_["cut"] | {"share": 0} == {
        "max_words": 2000, "n_texts": 0, "n_lost": 0, "share": 0, "longest": 2000,
        "n_words": clf.training_["cut"]["n_words"],
    }  # fmt: skip
    clf.save(tmp_path / "m")
    found = AdaSentClassifier.load(tmp_path / "m").explain(" ".join(long))
    assert_probabilities(clf.predict_proba([" ".join(long)]), 1)
    assert (len(found.tokens), len(found.beliefs), found.truncated) == (2000, 5, False)
    assert [level.shape for level in found.spans] == [(2000 - t, t + 1) for t in range(5)]
    assert len(found.to_json()) < 5_000_000
    for one in ("good", "good film"):
        assert len(clf.explain(one).beliefs) == len(one.split())


def test_no_texts(clf: AdaSentClassifier) -> None:
    assert clf.predict_proba([]).shape == (0, 2)
    assert clf.predict([]).tolist() == []


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, 3, b"bytes"])
def test_what_is_no_text_is_refused(
    clf: AdaSentClassifier, reviews: Reviews, missing: object
) -> None:
    with pytest.raises(DataError, match="at position 1"):
        clf.predict(["good", missing])
    with pytest.raises(DataError, match="at position 0"):
        tiny().fit([missing, *reviews[0][1:]], reviews[1])


@pytest.mark.parametrize("texts", ["good", b"good", np.array([["good"]])])
def test_what_is_no_column_is_refused(clf: AdaSentClassifier, texts: object) -> None:
    with pytest.raises(DataError, match=r"expected (a list|one column) of texts"):
        clf.predict(texts)


def test_weights_too_large_are_an_error_and_never_nan(reviews: Reviews) -> None:
    broken = tiny(epochs=1).fit(*reviews)
    with torch.no_grad():
        broken.model_.embedding.trained.fill_(1e5)
        broken.model_.projection.weight.fill_(3e38)
    with pytest.raises(AdaSentError, match="the network overflows on these texts"):
        broken.predict_proba(["a good film"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=[])), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore:of .* texts?:adasent.errors.AdaSentWarning")
def test_any_strings(clf: AdaSentClassifier, texts: list[str]) -> None:
    assert_probabilities(clf.predict_proba(texts), len(texts))


# -- texts and labels to train on ----------------------------------------------------------------

ODD = ["", "😀", "\0", "\ud800 film", "x" * 100_000, "good " * 60, "<pad>"]


@pytest.mark.filterwarnings("ignore:of .* texts?:adasent.errors.AdaSentWarning")
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_odd_texts_train_save_and_load(tmp_path: Path, activation: str) -> None:
    texts, labels = ODD * 4, (["odd", "even"] * 14)
    clf = tiny(activation=activation).fit(texts, labels)
    assert "\ud800" in clf.vocabulary_
    clf.save(tmp_path)
    loaded = AdaSentClassifier.load(tmp_path)
    assert loaded.vocabulary_ == clf.vocabulary_
    found = loaded.predict_proba(ODD)
    assert_probabilities(found, len(ODD))
    np.testing.assert_array_equal(found, clf.predict_proba(ODD))


def test_relu_does_not_overflow_on_long_texts() -> None:
    """Weights that double every unit from level to level: 2^400 is beyond float32."""
    clf = tiny(activation="relu", gate_groups=1).fit(["good film", "bad film"] * 10, [1, 0] * 10)
    composition = clf.model_.composition
    with torch.no_grad():
        for matrix in (composition.compose_left, composition.compose_right):
            matrix.copy_(2 * torch.eye(len(matrix)))
        composition.compose_bias.fill_(1.0)
        shares = torch.tensor([-50.0, -50.0, 50.0])
        composition.gate_bias.copy_(shares.repeat_interleave(len(composition.gate_bias) // 3))
    assert_probabilities(clf.predict_proba(["good " * 400]), 1)


def test_long_training_text_is_cut() -> None:
    with pytest.warns(AdaSentWarning, match="of 4 texts: 1 longer than max_words=30"):
        clf = tiny(max_words=30).fit(["word " * 5000, "a", "b", "a b"], [0, 1, 0, 1])
    assert_probabilities(clf.predict_proba(["word a b"]), 1)


def test_one_class_only(tmp_path: Path) -> None:
    with pytest.warns(AdaSentWarning, match="only one class, 'a', in the labels"):
        clf = tiny().fit(["one text", "another"], ["a", "a"])
    assert clf.predict_proba(["what else"]).tolist() == [[1.0]]
    clf.save(tmp_path)
    assert AdaSentClassifier.load(tmp_path).predict(["x", "y"]).tolist() == ["a", "a"]


def test_one_text_only() -> None:
    with pytest.warns(AdaSentWarning, match="only one class, 3, in the labels"):
        assert tiny().fit(["one text"], [3]).predict(["one text"]).tolist() == [3]


def test_nothing_to_train_on() -> None:
    with pytest.raises(DataError, match="expected at least one text, got none"):
        tiny().fit([], [])


def test_class_with_one_example_is_kept_for_training(reviews: Reviews) -> None:
    texts, labels = [*reviews[0], "unheard of"], [*reviews[1], "rare"]
    clf = tiny(validation_fraction=0.5).fit(texts, labels)
    assert clf.classes_.tolist() == ["neg", "pos", "rare"]
    assert "unheard" in clf.vocabulary_  # words of the validation part are not
    assert_probabilities(clf.predict_proba(texts), len(texts), 3)


def test_every_class_with_one_example() -> None:
    clf = tiny().fit(["one", "two", "three"], ["a", "b", "c"])
    assert clf.training_["n_validation"] == 0
    assert_probabilities(clf.predict_proba(["one"]), 1, 3)


def test_equal_texts_with_different_labels_get_the_share_of_each() -> None:
    texts, labels = ["the same text"] * 40, ["a", "b", "b", "b"] * 10
    clf = tiny(epochs=30, learning_rate=0.02, validation_fraction=0).fit(texts, labels)
    assert clf.predict_proba(["the same text"])[0, 0] == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize("pair", [(0, 1), (False, True), ("", "x"), (-1.0, 1.0)])
def test_labels_of_each_kind(reviews: Reviews, pair: tuple[Any, Any], tmp_path: Path) -> None:
    labels = [pair[label == "pos"] for label in reviews[1]]
    clf = tiny().fit(reviews[0], labels)
    clf.save(tmp_path)
    for model in (clf, AdaSentClassifier.load(tmp_path)):
        assert {type(label) for label in model.predict(reviews[0]).tolist()} == {type(pair[0])}
