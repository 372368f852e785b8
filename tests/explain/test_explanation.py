"""Explanations as data: levels, contrast, JSON."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from adasent import Predictor
from adasent.errors import DataError
from adasent.explain import METHODS, Explanation, explain
from adasent.explain.explanation import Known
from adasent.explain.parts import ByLevel, Phrase, Phrases
from adasent.explain.phrases import FoundPhrases

KEYS = [
    "text", "tokens", "offsets", "classes", "probabilities", "base", "predicted",
    "thresholds", "verdict",
    "beliefs", "level_probabilities", "contributions", "level_scores", "gates", "spans", "units",
    "words", "errors", "phrases", "method", "n_words", "truncated",
]  # fmt: skip


def test_rows_are_served_level_by_level() -> None:
    rows = np.arange(6)[:, None]
    levels = ByLevel(rows, 3, 3)
    assert [level[:, 0].tolist() for level in levels] == [[0, 1, 2], [3, 4], [5]]
    assert levels[-1].tolist() == [[5]]
    assert [len(level) for level in levels[1:]] == [2, 1]
    with pytest.raises(IndexError):
        levels[3]
    assert len(ByLevel(np.empty((0, 3)), 4, 4)) == 0


def test_phrases_are_like_a_tuple_of_them() -> None:
    found = FoundPhrases(
        np.array([[1, 3], [0, 1]]),
        np.array([[0.5, -0.5], [0.25, -0.25]]),
        np.array([[0.1, -0.1], [0.0, 0.0]]),
    )
    phrases = Phrases(found, "so good a film", ((0, 2), (3, 7), (8, 9), (10, 14)))
    whole = (
        Phrase(1, 3, "good a", (0.5, -0.5), (0.1, -0.1)),
        Phrase(0, 1, "so", (0.25, -0.25), (0.0, 0.0)),
    )
    assert len(phrases) == 2
    assert (tuple(phrases), phrases[:1], phrases[::-1]) == (whole, whole[:1], whole[::-1])
    assert (phrases[0], phrases[-1]) == whole
    assert phrases == whole == phrases
    assert phrases != whole[:1]
    assert phrases != 1
    assert (hash(phrases), repr(phrases)) == (hash(whole), repr(whole))
    assert copy.deepcopy(phrases) == phrases
    assert isinstance(phrases[0].start, int)
    with pytest.raises(IndexError):
        phrases[2]


@pytest.mark.parametrize("text", ["a good film", "film", "", "<b>\U0001f600 good</b>\tbad \ud800"])
def test_json_and_back(predictor: Predictor, text: str) -> None:
    if not text:
        with pytest.warns(UserWarning, match="without a word"):
            one = explain(predictor, text)
    else:
        one = explain(predictor, text)
    values = one.to_dict()
    assert list(values) == KEYS
    again = Explanation.from_json(one.to_json())
    assert again.to_dict() == values
    assert again.phrases == one.phrases
    assert json.loads(one.to_json()) == values


def test_shapes_of_the_json(explanation: Explanation) -> None:
    values = explanation.to_dict()
    n = len(explanation.tokens)
    assert [len(level) for level in values["units"]] == list(range(n, 0, -1))
    assert [len(level) for level in values["gates"]] == list(range(n - 1, 0, -1))
    assert [[len(unit) for unit in level] for level in values["spans"]] == [
        [t + 1] * (n - t) for t in range(n)
    ]
    assert np.sum(values["spans"][-1]) == pytest.approx(1, abs=1e-6)
    assert np.sum(values["contributions"], axis=0) == pytest.approx(values["probabilities"])
    assert values["predicted"] in values["classes"]
    assert values["method"] == METHODS["shapley"]
    unit = values["units"][1][0]
    assert sum(unit["probabilities"]) == pytest.approx(1)
    assert sum(unit["score"]) == pytest.approx(0, abs=1e-6)


def test_without_the_pyramid_the_rest_is_kept(explanation: Explanation) -> None:
    values = explanation.to_dict(pyramid=False)
    assert values["gates"] == values["spans"] == values["units"] == []
    again = Explanation.from_dict(values)
    assert again.to_dict(pyramid=False) == values
    with pytest.raises(DataError, match="without its pyramid"):
        again.spans  # noqa: B018


def test_contrast(explanation: Explanation) -> None:
    found = explanation.contrast("neg", "pos")
    p = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    assert found.margin == pytest.approx(p["neg"] - p["pos"])
    for parts in (found.levels, found.words, np.array([one.score[0] for one in found.phrases])):
        assert found.base + parts.sum() == pytest.approx(found.margin, abs=1e-5)
    np.testing.assert_allclose(found.words, -explanation.contrast("pos", "neg").words)
    scores = [phrase.score[0] for phrase in found.phrases]
    assert scores == sorted(scores, reverse=True)
    assert json.loads(json.dumps(found.to_dict()))["a"] == "neg"
    with pytest.raises(DataError, match="expected one of the labels 'neg', 'pos', got 'meh'"):
        explanation.contrast("neg", "meh")


def test_a_copy_leaves_the_model_behind(explanation: Explanation) -> None:
    assert not isinstance(explanation.rest, Known)
    again = copy.deepcopy(explanation)
    assert isinstance(again.rest, Known)
    assert again.to_dict() == explanation.to_dict()


def test_characters_of_words(explanation: Explanation) -> None:
    assert explanation.characters(1, 3) == "good film"


def test_levels_that_do_not_sum_to_the_probabilities_are_refused(predictor: Predictor) -> None:
    values = explain(predictor, "a good film").to_dict()
    values["beliefs"][0] += 0.01
    with pytest.raises(DataError, match="sum to the probabilities, they are off by"):
        Explanation.from_dict(values)


def test_an_explanation_without_a_base_is_refused(explanation: Explanation) -> None:
    values = explanation.to_dict()
    del values["base"]
    with pytest.raises(DataError, match="earlier version; explain the text again"):
        Explanation.from_dict(values)
