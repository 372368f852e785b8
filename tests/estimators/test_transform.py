"""Vectors of texts, logarithms of probabilities, and what objects say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from adasent import AdaSentClassifier, load
from adasent.estimators.registry import make
from adasent.runtime.head import norm_rows
from adasent.training.history import History

Reviews = tuple[list[str], list[str]]

TINY: dict[str, Any] = {
    "hidden_size": 6,
    "vector_size": 8,
    "classifier_size": 8,
    "epochs": 4,
    "learning_rate": 0.02,
    "batch_size": 20,
}
TEXTS = ["a good film", "film", "the plot was awful and the cast was bad", "xyz"]


@pytest.fixture(scope="module", params=[{}, {"max_height": 2, "level_norm": False}])
def fitted(request: pytest.FixtureRequest, reviews: Reviews) -> AdaSentClassifier:
    return AdaSentClassifier(**TINY | request.param).fit(*reviews)


def test_mean_of_levels_by_belief_and_the_top(fitted: AdaSentClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    predictor = load(tmp_path / "model")
    found = predictor.transform(TEXTS)
    assert found.shape == (4, 12)
    tensors = predictor.network.head.tensors
    for row, trace in zip(found, predictor.trace(TEXTS), strict=True):
        levels = trace.levels
        if "level_norm.weight" in tensors:
            levels = norm_rows(levels, tensors["level_norm.weight"], tensors["level_norm.bias"])
        np.testing.assert_allclose(row[:6], trace.beliefs @ levels, atol=1e-5)
        np.testing.assert_allclose(row[6:], levels[-1], atol=1e-5)
    np.testing.assert_array_equal(fitted.transform(TEXTS), found)


def test_names_of_columns(fitted: AdaSentClassifier) -> None:
    names = fitted.get_feature_names_out()
    assert len(names) == fitted.transform(TEXTS).shape[1]
    assert (names[0], names[5], names[6], names[-1]) == ("mean0", "mean5", "top0", "top5")


def test_before_another_model(reviews: Reviews) -> None:
    model = make_pipeline(AdaSentClassifier(**TINY), LogisticRegression())
    assert model.fit(*reviews).score(*reviews) > 0.9


def test_logarithms(fitted: AdaSentClassifier, tmp_path: Path) -> None:
    expected = np.log(fitted.predict_proba(TEXTS))
    np.testing.assert_array_equal(fitted.predict_log_proba(TEXTS), expected)
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_log_proba(TEXTS), expected)


def test_logarithms_of_a_system_without_a_network(reviews: Reviews) -> None:
    counts = make("mnb").fit(*reviews)
    np.testing.assert_array_equal(
        counts.predict_log_proba(TEXTS), np.log(counts.predict_proba(TEXTS))
    )


def test_what_they_say_of_themselves(fitted: AdaSentClassifier, tmp_path: Path) -> None:
    assert repr(AdaSentClassifier(epochs=3)) == "AdaSentClassifier(epochs=3)"
    assert "AdaSentClassifier" in fitted._repr_html_()
    fitted.save(tmp_path / "model")
    html = load(tmp_path / "model")._repr_html_()
    for part in ("<table>", "neg, pos", "120 texts"):
        assert part in html
    history = fitted.history_
    assert repr(history).startswith("History(4 epochs, best ")
    assert "validation accuracy" in repr(history)
    table = history._repr_html_()
    assert table.count("<tr") == 5
    assert table.count("font-weight:bold") == 1
    assert repr(History()) == "History(no epochs)"
    assert "<script>" not in History([{"train_loss": "<script>"}])._repr_html_()
