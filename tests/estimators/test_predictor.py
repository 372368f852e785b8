"""``adasent.load``: labels, probabilities and traces of texts, as the estimator gives them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adasent
from adasent import AdaSentClassifier
from adasent.errors import AdaSentWarning, ConfigError, DataError

TEXTS = ["a good film", "the plot was bad and dull", "", "zebra", "A GOOD film"]

pytestmark = pytest.mark.filterwarnings("ignore:of .* texts?:adasent.errors.AdaSentWarning")


def test_same_as_the_estimator(folder: Path) -> None:
    predictor, clf = adasent.load(folder), AdaSentClassifier.load(folder)
    found = predictor.predict_proba(TEXTS)
    np.testing.assert_array_equal(found, clf.predict_proba(TEXTS))
    assert predictor.predict(TEXTS).tolist() == clf.predict(TEXTS).tolist()
    assert predictor.classes_.tolist() == ["class 0", "class 1", "class 2"]
    assert predictor.training_ == {"seed": 1}
    np.testing.assert_allclose(found[0], found[-1], rtol=0, atol=1e-6)


def test_a_loaded_estimator_predicts_before_and_after_its_network_is_built(folder: Path) -> None:
    clf = AdaSentClassifier.load(folder)
    before = clf.predict_proba(TEXTS)
    assert "model_" not in vars(clf)
    assert clf.model_.config.n_classes == 3
    np.testing.assert_array_equal(clf.predict_proba(TEXTS), before)
    clf.model_.classifier.out.bias.data[2] = 1e3  # a change of the network counts
    assert set(clf.predict(TEXTS)) == {"class 2"}


def test_score_and_representation(folder: Path) -> None:
    predictor = adasent.load(folder)
    labels = predictor.predict(TEXTS)
    assert predictor.score(TEXTS, labels) == 1.0
    assert predictor.score(TEXTS, ["class 9", *labels[1:]]) == 0.8
    with pytest.raises(DataError, match="as many labels as texts"):
        predictor.score(TEXTS, labels[:-1])
    assert repr(predictor) == (
        "Predictor(adasent, 3 classes: class 0, class 1, class 2; 12 words of 5 dimensions, "
        "units of 7)"
    )


@pytest.mark.parametrize("odd", [0.5, "x", [1], {"sets": 3}, {"sets": [1, {"name": 2}]}, None])
def test_what_a_stranger_says_of_the_training(folder: Path, tmp_path: Path, odd: object) -> None:
    shutil.copytree(folder, tmp_path / "m")
    values = {"vectors": odd, "n_texts": odd, "examples": odd, "data": odd}
    (tmp_path / "m" / "training.json").write_text(json.dumps(values))
    assert "units of 7" in repr(adasent.load(tmp_path / "m"))
    assert "AdaSent" in adasent.load(tmp_path / "m")._repr_html_()


def test_what_is_no_list_of_texts_is_refused(folder: Path) -> None:
    predictor = adasent.load(folder)
    for use in (predictor.predict, predictor.predict_proba, predictor.trace):
        with pytest.raises(DataError, match="at position 1"):
            use(["good", None])
    with pytest.raises(DataError, match="wrap it in a list"):
        predictor.predict("good")


def test_odd_texts_are_counted(folder: Path) -> None:
    predictor = adasent.load(folder)
    for use in (predictor.predict, predictor.trace):
        with pytest.warns(AdaSentWarning, match="of 3 texts: 1 longer than max_words=30, cut"):
            use(["a " * 31, "", "film"])


def test_trace_of_one_text_and_of_many(folder: Path) -> None:
    predictor = adasent.load(folder)
    trace = predictor.trace("A good zebra")
    assert trace.tokens == ("a", "good", "zebra")
    assert trace.ids.tolist() == [2, 3, 1]
    np.testing.assert_allclose(trace.probabilities, predictor.predict_proba(["A good zebra"])[0])
    traces = predictor.trace(TEXTS)
    assert [len(one.tokens) for one in traces] == [3, 6, 1, 1, 3]
    assert traces[2].tokens == ("<unk>",)
    expected = predictor.predict_proba(TEXTS)
    np.testing.assert_allclose([one.probabilities for one in traces], expected, atol=1e-6)


def test_custom_tokenizer_is_asked_for(make_pair: Callable[..., Any], tmp_path: Path) -> None:
    make_pair().save(tmp_path, tokenizer="custom")
    with pytest.raises(ConfigError, match=r"tokenizer of its own; pass it: .*tokenizer=\.\.\."):
        adasent.load(tmp_path)
    predictor = adasent.load(tmp_path, str.split)
    assert predictor.trace("a GOOD film").tokens == ("a", "GOOD", "film")
