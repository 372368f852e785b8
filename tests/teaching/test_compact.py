"""A smaller table: which words stay, what rounding costs, and what a folder weighs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import adasent
from adasent import AdaSentClassifier
from adasent.teaching.compact import compact
from adasent.vectors.words import WordVectors
from teaching_cases import SMALL

Labelled = tuple[list[str], list[str]]


@pytest.fixture
def fitted(labelled: Labelled) -> AdaSentClassifier:
    vectors = WordVectors(["film", "good", "zebra", "yak"], np.eye(4, 16))
    settings = SMALL | {"vectors": vectors, "extra_words": 9, "epochs": 2}
    return AdaSentClassifier(**settings).fit(*labelled)


def test_rounding_changes_little_and_saving_nothing(
    fitted: AdaSentClassifier, labelled: Labelled, tmp_path: Path
) -> None:
    texts = [*labelled[0], "a zebra", "unheard of", ""]
    before, words = fitted.predict_proba(texts[:-1]), fitted.vocabulary_.words
    assert compact(fitted) is fitted
    assert fitted.vocabulary_.words == words
    assert fitted.vocabulary_.n_training == fitted.model_.config.n_trained == 2
    after = fitted.predict_proba(texts[:-1])
    assert after == pytest.approx(before, abs=0.02)
    assert not np.array_equal(after, before)
    fitted.save(tmp_path / "m")
    assert np.array_equal(adasent.load(tmp_path / "m").predict_proba(texts[:-1]), after)
    loaded = AdaSentClassifier.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(texts[:-1]), after)


def test_words_to_keep_come_first_then_those_of_training(fitted: AdaSentClassifier) -> None:
    every = fitted.vocabulary_.words[2:]
    assert every[-2:] == ("zebra", "yak")
    compact(fitted, 3, keep=["yak", "not there"])
    assert fitted.vocabulary_.words[2:] == (*every[:2], "yak")
    compact(fitted, 3)  # again changes nothing
    assert fitted.vocabulary_.words[2:] == (*every[:2], "yak")


def test_thirty_thousand_words_of_the_recipe_are_below_ten_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(30_000)]
    vectors = WordVectors(words, rng.standard_normal((len(words), 256), dtype=np.float32))
    clf = AdaSentClassifier(vectors=vectors, epochs=1, extra_words=30_000, device="cpu")
    texts = [" ".join(words[i : i + 5]) for i in range(0, 200, 5)]
    clf.fit(texts, ["a", "b"] * 20)
    compact(clf, 30_000).save(tmp_path / "m")
    size = sum(path.stat().st_size for path in (tmp_path / "m").iterdir())
    assert len(clf.vocabulary_) == 30_002
    assert size < 10e6
