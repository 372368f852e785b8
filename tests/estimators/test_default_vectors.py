"""Estimators whose word vectors are ``auto``, on the wheel of a tiny encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from adasent import AdaSentClassifier, load
from adasent.estimators.registry import make
from adasent.vectors.minilm import MiniLMWords

Reviews = tuple[list[str], list[str]]

TINY: dict[str, Any] = {
    "hidden_size": 8,
    "classifier_size": 8,
    "epochs": 2,
    "learning_rate": 0.02,
    "batch_size": 20,
}


@pytest.fixture
def wheel(minilm_wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What auto stands for."""
    monkeypatch.setenv("ADASENT_VECTORS", str(minilm_wheel))
    return minilm_wheel


def test_the_record_and_the_saved_model_say_which(
    wheel: Path, reviews: Reviews, tmp_path: Path
) -> None:
    clf = AdaSentClassifier(**TINY).fit(*reviews)
    assert clf.vectors == "auto"
    used = clf.training_["vectors"]
    assert used["auto"] is True
    digest = MiniLMWords(wheel).sha256
    (one,) = used["sets"]
    assert (one["name"], one["sha256"], one["dim"]) == ("minilm", digest, 8)
    assert one["scale"] > 0
    assert 0 < used["coverage"]["n_types_found"] < used["coverage"]["n_types"]
    assert "the" in clf.vocabulary_
    assert "can" in clf.vocabulary_  # of the encoder's own words, in no review
    clf.save(tmp_path / "model")
    assert load(tmp_path / "model").training_["vectors"]["sets"] == used["sets"]
    again = AdaSentClassifier.load(tmp_path / "model")
    assert again.vectors == "auto"
    # So a loaded model is trained as the first was.
    refit = clone(again).fit(*reviews)
    np.testing.assert_array_equal(
        refit.predict_proba(reviews[0][:9]), clf.predict_proba(reviews[0][:9])
    )


def test_one_state_of_the_machine_gives_one_model(wheel: Path, reviews: Reviews) -> None:
    first, second = (AdaSentClassifier(**TINY).fit(*reviews) for _ in range(2))
    for one, other in zip(first.model_.parameters(), second.model_.parameters(), strict=True):
        assert (one == other).all()


def test_none_is_none(wheel: Path, reviews: Reviews, tmp_path: Path) -> None:
    sizes = TINY | {"vector_size": 5}
    clf = AdaSentClassifier(vectors=None, **sizes).fit(*reviews)
    assert clf.training_["vectors"] == {"auto": False, "sets": [], "coverage": None}
    assert clf.model_.config.vector_size == 5
    clf.save(tmp_path / "model")
    assert AdaSentClassifier.load(tmp_path / "model").vectors is None
    same = AdaSentClassifier(vectors="none", **sizes).fit(*reviews)
    np.testing.assert_array_equal(same.predict_proba(["a"]), clf.predict_proba(["a"]))


def test_beside_a_table(wheel: Path, reviews: Reviews) -> None:
    from adasent.vectors.words import WordVectors

    table = WordVectors(["film", "zebra"], np.eye(2))
    clf = AdaSentClassifier(vectors=[MiniLMWords(wheel), table], **TINY).fit(*reviews)
    assert [one["name"] for one in clf.training_["vectors"]["sets"]] == ["minilm", "given"]
    assert clf.model_.config.vector_size == 10


def test_a_rival_has_the_same_default(wheel: Path, reviews: Reviews) -> None:
    clf = make("cbow", epochs=1).fit(*reviews)
    assert clf.training_["vectors"]["sets"][0]["name"] == "minilm"


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search(wheel: Path, reviews: Reviews, n_jobs: int | None) -> None:
    texts, labels = reviews
    grid = {"vectors": ["auto", None], "level_loss": [0.5]}
    search = GridSearchCV(AdaSentClassifier(**TINY), grid, cv=2, n_jobs=n_jobs)
    search.fit(texts, labels)
    assert search.best_params_["vectors"] in ("auto", None)
