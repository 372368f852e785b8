"""Mean vectors of words over their contexts, by hand and in parts; sets side by side."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from adasent import AdaSentClassifier
from adasent.errors import DataError, VectorsError
from adasent.teaching import vectors
from adasent.teaching.vectors import (
    contextual_vectors,
    most_frequent,
    rarest,
    side_by_side,
    word_settings,
)
from adasent.text.tokenize import words
from adasent.vectors.words import WordVectors

TEXTS = ["a b", "a b b", "", "c"]


def places(tokens: list[list[str]]) -> list[np.ndarray]:
    """A word's place in its text and how many words that has."""
    return [np.array([[i, len(row)] for i in range(len(row))], dtype=np.float32) for row in tokens]


@pytest.mark.parametrize("batch", [1, 256])
def test_means_by_hand(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(vectors, "BATCH", batch)
    found = contextual_vectors(TEXTS, places, tokenizer=words)
    assert found.words == ["b", "a", "c"]
    means = np.array([[(1 + 1 + 2) / 3, (2 + 3 + 3) / 3], [0, 2.5], [0, 1]])
    assert found.matrix == pytest.approx(means - means.mean(axis=0), abs=1e-6)


def test_only_the_most_frequent_and_fewer_components() -> None:
    found = contextual_vectors(TEXTS, places, tokenizer=words, n_words=2, size=1)
    assert (found.words, found.matrix.shape) == (["b", "a"], (2, 1))
    assert abs(found.matrix.sum()) < 1e-6


def test_frequent_words_weigh_less() -> None:
    plain = contextual_vectors(TEXTS, places, tokenizer=words)
    smooth = contextual_vectors(TEXTS, places, tokenizer=words, smooth=0.5)
    shares = np.array([3, 2, 1]) / 6
    assert smooth.matrix == pytest.approx(plain.matrix * (0.5 / (0.5 + shares))[:, None])


def test_a_reader_that_loses_words_is_refused() -> None:
    with pytest.raises(VectorsError, match="a vector for each of 2 words, got 1"):
        contextual_vectors(TEXTS, lambda t: [v[:1] for v in places(t)], tokenizer=words)
    with pytest.raises(DataError, match="texts with words"):
        contextual_vectors(["", " "], places, tokenizer=words)


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    contextual_vectors(TEXTS, places, tokenizer=words, progress=lambda *n: seen.append(n))
    assert seen == [(4, 4)]


def test_side_by_side() -> None:
    rng = np.random.default_rng(0)
    first = WordVectors(["a", "b"], rng.normal(size=(2, 3)))
    second = WordVectors(["b", "c"], 100 * rng.normal(size=(2, 2)))
    both = side_by_side([first, second], ["a", "b", "c", "d"], 9)
    assert (both.words, both.dim) == (["a", "b", "c"], 5)
    assert both.matrix[0, 3:].tolist() == [0, 0]
    assert both.matrix[:2, :3].std() == pytest.approx(1, abs=1e-5)
    assert side_by_side([first, second], ["a", "b", "c"], 2).dim == 2
    with pytest.raises(VectorsError, match="for some of the words"):
        side_by_side([first], ["x"], 2)


def test_rarest_and_most_frequent() -> None:
    counts = Counter({"a": 5, "b": 3, "c": 3, "d": 1, "<unk>": 9})
    assert most_frequent(counts, 3) == ["a", "b", "c"]
    del counts["<unk>"]
    assert [rarest(counts, n) for n in (4, 3, 2, 1)] == [1, 2, 4, 4]
    for n in range(1, 5):
        assert sum(count >= rarest(counts, n) for count in counts.values()) <= n


def test_settings_of_a_student() -> None:
    source = WordVectors(["a", "b", "c", "z"], np.eye(4, 6))
    student = AdaSentClassifier(vectors=source)
    labelled, extra = ["a x"], ["b b c", "b y"]
    found = word_settings(student, labelled, extra, n_words=2, size=3)
    assert found["min_count"] == 2
    assert found["vectors"].dim == 3
    assert found["vectors"].words == ["a", "b"]  # with x, which no set has, the two of each list
    assert word_settings(student, labelled, extra, n_words=None, size=None) == {}
    kept = word_settings(student.set_params(min_count=3), labelled, extra, n_words=2, size=9)
    assert kept == {}
    with_reader = word_settings(student, labelled, extra, n_words=9, size=None, read=places)
    assert with_reader["vectors"].dim == 6 + 2
    assert "x" in with_reader["vectors"]
