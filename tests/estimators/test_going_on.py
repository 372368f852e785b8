"""Training a fitted model further: ``partial_fit`` and ``warm_start``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent import AdaSentClassifier, load
from adasent.errors import ConfigError, DataError
from adasent.estimators.registry import make
from adasent.vectors.words import WordVectors

Reviews = tuple[list[str], list[str]]

TINY: dict[str, Any] = {
    "hidden_size": 8,
    "vector_size": 8,
    "classifier_size": 8,
    "epochs": 6,
    "batch_size": 20,
    "learning_rate": 0.02,
    "vector_dropout": 0.1,
    "dropout": 0.1,
    "vectors": None,
}
#: What the reviews do not say: new words decide.
NOUNS = ["film", "plot", "cast", "story", "scene"]
MORE = (
    [text for noun in NOUNS for text in (f"a marvellous {noun}", f"the ghastly {noun}")] * 4,
    ["pos", "neg"] * 20,
)


@pytest.fixture(scope="module")
def saved(reviews: Reviews, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "first"
    AdaSentClassifier(**TINY).fit(*reviews).save(folder)
    return folder


def opened(saved: Path, **settings: Any) -> AdaSentClassifier:
    return AdaSentClassifier.load(saved).set_params(**settings)


def test_a_loaded_model_learns_new_words_and_keeps_what_it_knows(
    saved: Path, reviews: Reviews, tmp_path: Path
) -> None:
    clf = opened(saved)
    before = clf.score(*reviews)
    n_words = len(clf.vocabulary_)
    for _ in range(8):
        clf.partial_fit(*MORE)
    assert clf.score(*MORE) == 1
    assert clf.score(*reviews) >= before - 0.05
    assert len(clf.vocabulary_) == n_words + 2
    assert clf.vocabulary_.words[:n_words] == opened(saved).vocabulary_.words
    assert [one["n_texts"] for one in clf.training_["earlier"]] == [120] + 7 * [40]
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(MORE[0]), clf.predict_proba(MORE[0]))


def test_one_call_is_one_pass_from_the_weights_that_were_there(saved: Path) -> None:
    clf = opened(saved, learning_rate=1e-6)
    before = clf.predict_proba(["a good film and a dull plot"])
    clf.partial_fit(*MORE)
    assert len(clf.history_) == 1
    after = clf.predict_proba(["a good film and a dull plot"])
    np.testing.assert_allclose(after, before, atol=1e-3)


def test_the_same_calls_give_the_same_model(saved: Path) -> None:
    first, second = (opened(saved).partial_fit(*MORE).partial_fit(*MORE) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(MORE[0]), second.predict_proba(MORE[0]))


def test_warm_start_goes_on_with_all_epochs(saved: Path, reviews: Reviews) -> None:
    clf = opened(saved, warm_start=True, epochs=3, validation_fraction=0.3)
    clf.fit(*MORE)
    assert 1 < len(clf.history_) <= 3
    assert clf.training_["n_validation"] > 0
    assert {"marvellous", "lovely"} <= set(clf.vocabulary_.words)
    fresh = opened(saved, epochs=3).fit(*MORE)  # without warm_start, fit forgets
    assert "lovely" not in fresh.vocabulary_
    begun = AdaSentClassifier(**TINY | {"warm_start": True, "epochs": 1}).fit(*MORE)
    assert "earlier" not in begun.training_


def test_classes_are_those_of_the_first_call() -> None:
    clf = AdaSentClassifier(**TINY)
    clf.partial_fit(*MORE, classes=["pos", "neg", "odd"])
    assert clf.classes_.tolist() == ["neg", "odd", "pos"]
    clf.partial_fit(["an odd film"], ["odd"])
    clf.partial_fit(*MORE, classes=["pos", "neg", "odd"])
    with pytest.raises(DataError, match="expected labels among the model's classes"):
        clf.partial_fit(["a film"], ["new"])
    with pytest.raises(DataError, match="leave out classes="):
        clf.partial_fit(*MORE, classes=["pos", "neg"])
    assert AdaSentClassifier(**TINY).partial_fit(*MORE).classes_.tolist() == ["neg", "pos"]


def test_words_that_were_only_known_become_trained_ones(reviews: Reviews) -> None:
    words = ["film", "good", "bad", "marvellous", "zebra"]
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(5, 8)))
    clf = AdaSentClassifier(**TINY | {"vectors": vectors}).fit(*reviews)
    old = clf.vocabulary_
    assert old.id_of("marvellous") >= old.n_training
    clf.partial_fit(*MORE)
    new = clf.vocabulary_
    assert len(new) == len(old) + 1  # ghastly
    assert new.id_of("marvellous") < new.n_training
    assert new.id_of("zebra") >= new.n_training


def test_new_words_start_where_training_would_have_put_them(reviews: Reviews) -> None:
    """Of the vectors that the model began with, at the same scale; else small and random."""
    words = ["film", "good", "bad", "marvellous", "zebra"]
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(5, 8), scale=5))
    frozen = TINY | {"vectors": vectors, "extra_words": 0, "fine_tune": False}
    clf = AdaSentClassifier(**frozen).fit(*reviews)
    row = clf.model_.embedding.trained[clf.vocabulary_.id_of("film")].detach().numpy().copy()
    clf.partial_fit(*MORE)
    table = clf.model_.embedding.trained.detach().numpy()
    np.testing.assert_array_equal(table[clf.vocabulary_.id_of("film")], row)
    expected = vectors["marvellous"] * (row / vectors["film"]).mean()
    np.testing.assert_allclose(table[clf.vocabulary_.id_of("marvellous")], expected, rtol=2e-3)
    other = AdaSentClassifier(**frozen).fit(*reviews)
    other.set_params(vectors=None).partial_fit(*MORE)
    small = other.model_.embedding.trained.detach()[other.vocabulary_.id_of("marvellous")]
    assert float(small.abs().max()) < 0.5


def test_what_cannot_go_on_says_so(saved: Path, reviews: Reviews) -> None:
    with pytest.raises(ConfigError, match="hidden_size is 9 and the fitted model has 8"):
        opened(saved, hidden_size=9).partial_fit(*MORE)
    with pytest.raises(ConfigError, match="expected labels to go on with"):
        opened(saved, warm_start=True).fit(["a"], [[0.5, 0.5]], classes=["pos", "neg"])
    with pytest.raises(ConfigError, match="warm_start must be True or False"):
        AdaSentClassifier(**TINY | {"warm_start": 1}).fit(*reviews)


def test_other_networks_go_on_too(reviews: Reviews, tmp_path: Path) -> None:
    clf = make("cbow", vectors=None, vector_size=8, epochs=2, learning_rate=0.02).fit(*reviews)
    clf.save(tmp_path / "model")
    again = type(clf).load(tmp_path / "model")
    for _ in range(6):
        again.partial_fit(*MORE)
    assert again.score(*MORE) == 1
