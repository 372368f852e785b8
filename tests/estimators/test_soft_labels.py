"""Soft labels in ``fit``: what they mean, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier
from adasent.errors import DataError
from adasent.text.vocabulary import UNK_ID
from adasent.vectors.words import WordVectors

Reviews = tuple[list[str], list[str]]

TINY: dict[str, Any] = {
    "hidden_size": 8,
    "vector_size": 8,
    "classifier_size": 8,
    "epochs": 2,
    "learning_rate": 0.02,
}


def one_hot(labels: list[str], classes: list[str]) -> np.ndarray:
    return np.array([[label == one for one in classes] for label in labels], dtype=float)


def state(clf: AdaSentClassifier) -> dict[str, torch.Tensor]:
    return dict(clf.model_.state_dict())


@pytest.mark.parametrize("extra", [{}, {"class_weight": "balanced"}, {"level_loss": 0.0}])
def test_one_hot_gives_what_labels_give_bit_for_bit(reviews: Reviews, extra: Any) -> None:
    texts, labels = reviews
    weights = np.arange(len(texts)) % 3
    hard = AdaSentClassifier(**TINY | extra).fit(texts, labels, weights)
    for classes in (["neg", "pos"], ["pos", "neg"]):  # in any order
        soft = AdaSentClassifier(**TINY | extra)
        soft.fit(texts, one_hot(labels, classes), weights, classes=classes)
        assert soft.classes_.tolist() == ["neg", "pos"]
        assert soft.training_["n_validation"] == hard.training_["n_validation"] > 0
        for name, tensor in state(hard).items():
            assert torch.equal(tensor, state(soft)[name]), name


def test_probabilities_are_learnt() -> None:
    """Of a word that is in both classes by three to one, a network that is told so says so."""
    texts = ["so so", "fine", "bad"] * 20
    given = np.array([[0.25, 0.75], [0.0, 1.0], [1.0, 0.0]] * 20)
    clf = AdaSentClassifier(
        **TINY | {"epochs": 60, "validation_fraction": 0, "dropout": 0.0, "vector_dropout": 0.0}
    )
    clf.fit(texts, given, classes=[0, 1])
    assert clf.predict_proba(texts[:3])[:, 1] == pytest.approx([0.75, 1, 0], abs=0.1)


def test_validation_is_by_labels(reviews: Reviews) -> None:
    texts, labels = reviews
    soft = 0.8 * one_hot(labels, ["neg", "pos"]) + 0.1
    held = (texts[:10], labels[:10])
    clf = AdaSentClassifier(**TINY).fit(texts, soft, classes=["neg", "pos"], validation=held)
    assert clf.training_["n_validation"] == 10


def test_a_class_that_is_nowhere_the_most_probable(reviews: Reviews) -> None:
    texts, labels = reviews
    three = 0.8 * one_hot(labels, ["neg", "pos", "other"]) + np.array([0.0, 0.0, 0.2])
    clf = AdaSentClassifier(**TINY).fit(texts, three, classes=["neg", "pos", "other"])
    assert clf.classes_.tolist() == ["neg", "other", "pos"]
    assert clf.predict_proba(texts).shape == (len(texts), 3)


@pytest.mark.parametrize(
    ("given", "classes", "words"),
    [
        ([[0.5, 0.5]], None, "classes=... says what the columns stand for"),
        ([[0.5, 0.5]], [0, 1, 2], r"shape \(1, 3\)"),
        ([[0.5, 0.5]] * 2, [0, 1], r"shape \(1, 2\)"),
        ([[0.5, 0.6]], [0, 1], "sum to 1, got .* at position 0"),
        ([[1.5, -0.5]], [0, 1], "sum to 1"),
        ([[np.nan, 1.0]], [0, 1], "sum to 1"),
        ([[0.5, 0.5]], [1, 1], "distinct labels"),
        ([["a", "b"]], [0, 1], "a matrix of probabilities"),
        (["a"], ["a", "b"], "a matrix of probabilities"),
    ],
)
def test_refused(given: Any, classes: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        AdaSentClassifier(**TINY).fit(["a text"], given, classes=classes)


def test_half_precision_sums_are_put_right(reviews: Reviews) -> None:
    texts, labels = reviews
    rounded = np.float16(0.9999 * one_hot(labels, ["neg", "pos"]) + 0.00007)
    clf = AdaSentClassifier(**TINY).fit(texts, rounded, classes=["neg", "pos"])
    assert len(clf.history_) == 2


def test_rare_words_with_a_vector_are_unknown_in_training_and_known_after() -> None:
    vectors = WordVectors(["film", "zebra", "yak"], np.eye(3, 8))
    texts, labels = [*["a film", "no film"] * 10, "a zebra", "no yak"], ["p", "n"] * 11
    clf = AdaSentClassifier(**TINY | {"vectors": vectors, "min_count": 2})
    encoded = clf.encode(texts, labels, validation=(["a zebra"], ["p"]))
    words = encoded.encoder.vocabulary
    assert words.words[words.n_training :] == ("zebra", "yak")
    assert [row.tolist()[-1] for row in encoded.training.ids[-2:]] == [UNK_ID, UNK_ID]
    assert encoded.validation is not None
    assert encoded.validation.ids[0][-1] == words.id_of("zebra")
    clf.fit(texts, labels)
    assert len(clf.history_) == 2
