"""Paragraph Vector: determinism, inference, unlabelled texts, settings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError, MissingDependencyError
from adasent.estimators.paragraph_vector import (
    DocumentModel,
    ParagraphVectorClassifier,
    ParagraphVectorConfig,
)

pytest.importorskip("gensim")

Reviews = tuple[list[str], list[str]]

QUICK: dict[str, Any] = {"vector_size": 8, "epochs": 10, "learning_rate": 0.1, "C": 10.0}
COUNTS = {"a": 4, "good": 2, "bad": 1, "film": 3}


def quick(**settings: Any) -> ParagraphVectorClassifier:
    return ParagraphVectorClassifier(**(QUICK | settings))


def tiny(kind: str, seed: int = 0) -> DocumentModel:
    return DocumentModel(kind, COUNTS, ParagraphVectorConfig(**QUICK), seed)


# -- determinism ---------------------------------------------------------------------------------

FIT = """
from adasent.estimators.paragraph_vector import ParagraphVectorClassifier
texts = [f"a {word} film {i % 7}" for i, word in enumerate(["good", "bad"] * 20)]
clf = ParagraphVectorClassifier(vector_size=8, epochs=5).fit(texts, ["p", "n"] * 20)
found = clf.predict_proba(texts).tobytes()
"""


def test_the_salt_of_pythons_hashes_does_not_matter() -> None:
    here: dict[str, Any] = {}
    exec(FIT, here)
    script = f"{FIT}\nimport hashlib; print(hashlib.sha256(found).hexdigest())"
    other = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == hashlib.sha256(here["found"]).hexdigest()


def test_the_seed_matters(reviews: Reviews) -> None:
    one, two = (quick(random_state=s).fit(*reviews).predict_proba(reviews[0]) for s in (0, 1))
    assert not np.array_equal(one, two)


# -- the two models ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dm", "dbow"])
def test_inference_holds_words_and_weights_fast(kind: str) -> None:
    model = tiny(kind)
    model.train([["a", "good", "film"], ["a", "bad", "film"]])
    words, hidden = model.tables.wv.vectors.copy(), model.tables.syn1neg.copy()
    first = model.infer(["a", "good", "film"])
    assert first.shape == (8,)
    assert np.abs(first).max() > 0
    np.testing.assert_array_equal(model.tables.wv.vectors, words)
    np.testing.assert_array_equal(model.tables.syn1neg, hidden)
    model.infer(["bad"])
    np.testing.assert_array_equal(model.infer(["a", "good", "film"]), first)


@pytest.mark.parametrize("kind", ["dm", "dbow"])
def test_training_moves_the_weights_and_is_seeded(kind: str) -> None:
    untrained, one, two = tiny(kind), tiny(kind), tiny(kind)
    for model in (one, two):
        model.train([["a", "good", "film"], ["a", "bad", "film"]])
    np.testing.assert_array_equal(one.tables.syn1neg, two.tables.syn1neg)
    assert np.abs(one.tables.syn1neg - untrained.tables.syn1neg).max() > 1e-3


@pytest.mark.parametrize("kind", ["dm", "dbow"])
def test_text_without_known_words_has_the_zero_vector(kind: str) -> None:
    model = tiny(kind)
    model.train([["a", "good", "film"]])
    assert not model.infer(["unheard", "of"]).any()
    assert not model.infer([]).any()


def test_words_keep_the_order_of_their_counts() -> None:
    assert tiny("dm").tables.wv.index_to_key == list(COUNTS)


# -- the classifier ------------------------------------------------------------------------------


def test_both_models_count(reviews: Reviews) -> None:
    clf = quick().fit(*reviews)
    dm, dbow = np.split(np.abs(clf.model_.coef).sum(axis=0), 2)
    assert dm.max() > 0
    assert dbow.max() > 0


def test_rare_words_are_left_out(reviews: Reviews) -> None:
    texts = [*reviews[0], "hapax good"]
    labels = [*reviews[1], "pos"]
    assert "hapax" in quick().fit(texts, labels).model_.counts
    assert "hapax" not in quick(min_count=2).fit(texts, labels).model_.counts
    with pytest.raises(DataError, match=r"occur 1000 times or more, got none .* lower min_count"):
        quick(min_count=1000).fit(texts, labels)


def test_unlabelled_texts_teach_words_and_no_labels(reviews: Reviews) -> None:
    plain = quick().fit(*reviews)
    further = quick(unlabelled=["an excellent film"] * 5).fit(*reviews)
    assert "excellent" not in plain.model_.counts
    assert further.model_.counts["excellent"] == 5
    assert further.model_.counts["film"] == plain.model_.counts["film"] + 5
    assert further.classes_.tolist() == plain.classes_.tolist()
    assert (plain.training_["n_unlabelled"], further.training_["n_unlabelled"]) == (0, 5)
    assert further.training_["n_texts"] == len(reviews[0])
    with pytest.raises(DataError, match="expected strings"):
        quick(unlabelled=[None]).fit(*reviews)


def test_training_data_is_left_alone(reviews: Reviews) -> None:
    further = ["an excellent film"]
    clf = quick(unlabelled=further)
    clf.fit(*reviews)
    assert clf.unlabelled is further
    assert further == ["an excellent film"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vector_size", 0),
        ("vector_size", 8.0),
        ("window", 0),
        ("negative", 0),
        ("min_count", 0),
        ("epochs", 0),
        ("learning_rate", 0),
        ("C", 0),
        ("max_words", 10_001),
    ],
)
def test_settings_out_of_range(reviews: Reviews, name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        quick(**{name: value}).fit(*reviews)


def test_gensim_is_asked_for_when_it_is_missing(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models.doc2vec", None)
    with pytest.raises(MissingDependencyError, match=r"adasent\[vectors\]"):
        quick().fit(*reviews)
