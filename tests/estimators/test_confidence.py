"""Labels are withheld below a probability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adasent import AdaSentClassifier
from adasent.errors import ConfigError
from adasent.estimators.confidence import sure_labels
from adasent.estimators.predictor import Predictor
from adasent.estimators.registry import make
from adasent.runtime.network import Network

SAID = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (0, ["a", "b", "a"]),
        (0.6, ["a", "b", None]),
        (0.61, [None, "b", None]),
        (1, [None, None, None]),
    ],
)
def test_thresholds(least: float, expected: list[Any]) -> None:
    assert sure_labels(SAID, np.array(["a", "b"]), least).tolist() == expected


def test_labels_keep_their_type() -> None:
    assert sure_labels(SAID, np.array([3, 7]), 0.7).tolist() == [None, 7, None]
    assert sure_labels(SAID, np.array([False, True]), 0.0).tolist() == [False, True, False]
    assert sure_labels(np.empty((0, 2)), np.array([3, 7]), 0.7).tolist() == []


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan")])
def test_a_probability_is_from_0_to_1(least: float) -> None:
    with pytest.raises(ConfigError, match="min_confidence"):
        sure_labels(SAID, np.array(["a", "b"]), least)


def test_predictor(reviews: tuple[list[str], list[str]]) -> None:
    texts, labels = (column[:40] for column in reviews)
    clf = AdaSentClassifier(vector_size=8, hidden_size=8, epochs=2).fit(texts, labels)
    predictor = Predictor(Network(*clf._weights()), clf.encoder_, clf.classes_)
    highest = predictor.predict_proba(texts).max(axis=1)
    least = float(np.median(highest))
    found = predictor.predict(texts, min_confidence=least)
    assert [label is None for label in found] == (highest < least).tolist()
    sure = highest >= least
    assert (found[sure] == predictor.predict(texts)[sure]).all()


def test_every_estimator_may_be_unsure(reviews: tuple[list[str], list[str]]) -> None:
    clf = make("mnb").fit(*reviews)
    texts = [*reviews[0][:4], "unheard of"]
    highest = clf.predict_proba(texts).max(axis=1)
    least = float(sorted(highest)[1])
    found = clf.predict(texts, min_confidence=least)
    assert [label is None for label in found] == (highest < least).tolist()
    assert clf.predict(texts, min_confidence=0.0).tolist() == clf.predict(texts).tolist()
