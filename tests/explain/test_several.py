"""Explanations of texts that may have several labels: each class by itself, all answers named."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.errors import DataError
from adasent.explain import explain
from adasent.explain.explanation import Explanation
from adasent.explain.html import fragment
from adasent.explain.profile import profile
from adasent.explain.reading import read_for

TEXT = "the plot was good and the cast was dull"


@pytest.fixture(scope="module")
def explained(make_twin: Callable[..., Any]) -> Callable[[list[float]], Explanation]:
    """The text by a model of three classes whose probabilities are near a half, by thresholds."""
    predictor = make_twin(multilabel=True).predictor
    predictor.classes_ = np.array(["joy", "😢", "<b>"])

    def by(thresholds: list[float]) -> Explanation:
        own = copy.copy(predictor)
        own.thresholds_ = np.array(thresholds)
        found = explain(own, TEXT)
        assert found.predicted == own.predict([TEXT])[0]
        return found

    return by


def test_what_words_add_to_one_class_says_nothing_of_the_others(explained: Any) -> None:
    found = explained([0.5, 0.5, 0.5])
    np.testing.assert_allclose(found.words.sum(axis=0), found.probabilities - found.base, atol=1e-6)
    assert np.abs(found.words.sum(axis=1)).max() > 1e-3
    assert abs(found.probabilities.sum() - 1) > 1e-3


def test_all_answers_are_named_the_most_probable_first(explained: Any) -> None:
    found = explained([0.0, 0.0, 0.0])
    order = [found.classes[c] for c in np.argsort(-found.probabilities)]
    assert list(found.answers) == order
    assert found.predicted == ("joy", "😢", "<b>")
    places = [found.verdict.index(f"{name} (") for name in order]
    assert places == sorted(places)
    reading = read_for(found)
    assert reading.total == pytest.approx(found.probabilities.max())
    assert all(name in reading.title for name in order)
    html = fragment(found)
    assert html.count("<h4>Phrases of ") == 3
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_one_answer_reads_as_of_a_model_of_one_label(explained: Any) -> None:
    found = explained([0.0, 1.0, 1.0])
    assert found.predicted == ("joy",)
    assert found.verdict.startswith("joy (")
    assert "<h4>Phrases, from" in fragment(found)


def test_without_an_answer_the_nearest_is_named(explained: Any) -> None:
    found = explained([1.0, 0.9, 1.0])
    assert found.predicted == ()
    assert found.verdict.startswith("none of the labels: ")
    nearest = found.classes[int((found.probabilities - found.thresholds).argmax())]
    assert f"{nearest} (" in found.verdict
    assert found.verdict.partition(";")[0].endswith("%")
    assert read_for(found).title.startswith("none; nearest ")


def test_a_class_can_be_asked_for(explained: Any) -> None:
    found = explained([0.5, 0.5, 0.5])
    reading = read_for(found, "😢")
    assert reading.total == pytest.approx(found.probabilities[1])
    contrast = found.contrast("joy", "😢")
    assert contrast.words.sum() == pytest.approx(contrast.margin - contrast.base, abs=1e-6)


def test_json_keeps_it(explained: Any) -> None:
    found = explained([0.2, 0.9, 0.4])
    again = Explanation.from_json(found.to_json())
    assert again.predicted == found.predicted
    assert again.verdict == found.verdict
    assert found.to_dict()["predicted"] == list(found.predicted)
    values = found.to_dict()
    del values["thresholds"]  # as before there were any
    assert isinstance(Explanation.from_dict(values).predicted, str)


@pytest.mark.filterwarnings("ignore:of 1 text:adasent.errors.AdaSentWarning")
def test_a_text_without_a_word(make_twin: Callable[..., Any]) -> None:
    predictor = make_twin(multilabel=True).predictor
    assert predictor.explain("").verdict.endswith("there is no word to go by")


def test_a_profile_counts_every_label_that_a_text_gets(make_twin: Callable[..., Any]) -> None:
    predictor = make_twin(multilabel=True).predictor
    predictor.classes_ = np.array(["joy", "rage", "tears"])
    predictor.thresholds_ = np.array([0.0, 1.0, 0.0])  # joy and tears of every text
    found = profile(predictor, [TEXT, "a film"], [("tears", "joy"), ("joy", "unheard of")])
    columns, rows = found.tables["scales"]
    assert columns[:3] == ("class", "labels given", "precision")
    assert [row[:3] for row in rows] == [("joy", 2, 1.0), ("tears", 2, 0.5), ("all", 4, 0.75)]
    for row in rows:
        assert sum(row[5:10]) == pytest.approx(1)
    assert found.tables["lengths"][0][:3] == ("words", "labels given", "precision")
    # The second text has a label that the model does not know: it cannot be right.
    assert found.order.accuracy == 0.5
    assert (found.order.shuffled, found.order.changed) == (0.5, 0.0)
    predictor.thresholds_ = np.ones(3)
    with pytest.raises(DataError, match="none of the texts a label"):
        profile(predictor, [TEXT], [("joy",)])
    with pytest.raises(DataError, match="a tuple of labels"):
        profile(predictor, [TEXT], ["joy"])
