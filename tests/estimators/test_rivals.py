"""Estimators of the rival networks: the same contract as AdaSentClassifier, and saving."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from adasent.data.span_parser import N_ROWS, SpanParser
from adasent.errors import ConfigError, ModelFormatError
from adasent.estimators.registry import SYSTEMS, load_estimator, make
from adasent.estimators.rivals import CnnClassifier

RIVALS = [name for name, entry in SYSTEMS.items() if entry.is_network]
TEXTS = ["good film", "a very good one !", "bad film", "so bad , a bad one"] * 6
LABELS = ["pos", "pos", "neg", "neg"] * 6
SMALL: dict[str, dict[str, object]] = {
    "cbow": {"pooling": "max"},
    "rnn": {"hidden_size": 6},
    "brnn": {"hidden_size": 6},
    "grconv": {"hidden_size": 6},
    "cnn": {"n_maps": 4, "multichannel": True},
    "dcnn": {"row_size": 8, "n_maps": (2, 3)},
    "rae": {"hidden_size": 6},
    "mv-recnn": {"hidden_size": 4, "rank": 2, "parser": SpanParser(np.zeros(N_ROWS))},
}


def fitted(name: str, **more: object):  # type: ignore[no-untyped-def]
    settings = {"vector_size": 8, "epochs": 25, "learning_rate": 0.02, "batch_size": 8}
    clf = make(name, **(settings | SMALL.get(name, {}) | {"validation_fraction": 0.0} | more))
    return clf.fit(TEXTS, LABELS)


@pytest.mark.parametrize("name", RIVALS)
def test_learns_predicts_saves_and_loads(name: str, tmp_path: Path) -> None:
    clf = fitted(name)
    assert clf.predict(["good !", "bad one"]).tolist() == ["pos", "neg"]
    unseen = ["", "never seen words \U0001f600", "good", " ".join(["bad"] * 40)]
    with pytest.warns(UserWarning, match="1 without a word"):
        expected = clf.predict_proba(unseen)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    clf.save(tmp_path / "model")
    for again in (type(clf).load(tmp_path / "model"), load_estimator(tmp_path / "model")):
        with pytest.warns(UserWarning, match="1 without a word"):
            np.testing.assert_array_equal(again.predict_proba(unseen), expected)
        for setting in SMALL.get(name, {}):
            if setting != "parser":
                assert getattr(again, setting) == getattr(clf, setting)
    assert not list((tmp_path / "model").glob("*.pkl"))


@pytest.mark.parametrize("name", RIVALS)
def test_same_seed_same_model_and_clone(name: str) -> None:
    one, other = fitted(name, epochs=2), fitted(name, epochs=2)
    np.testing.assert_array_equal(one.predict_proba(TEXTS), other.predict_proba(TEXTS))
    copy = clone(one)
    assert copy.get_params() == one.get_params()
    assert not hasattr(copy, "classes_")


def test_keywords_are_those_of_the_configs() -> None:
    params = CnnClassifier().get_params()
    assert params["windows"] == (3, 4, 5)
    assert params["learning_rate"] is None  # by the word vectors
    assert params["batch_size"] == 50
    assert "n_classes" not in params
    with pytest.raises(TypeError, match=r"CnnClassifier has no keyword 'window'.*windows"):
        CnnClassifier(window=3)
    with pytest.raises(ConfigError, match="n_maps"):
        CnnClassifier(n_maps=0).fit(TEXTS, LABELS)


@pytest.mark.parametrize("damage", ["settings", "vocabulary", "tensor", "system", "no file"])
def test_damaged_folder_is_refused(damage: str, tmp_path: Path) -> None:
    fitted("cbow", epochs=1).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    if damage == "settings":
        config["settings"]["pooling"] = "median"
    elif damage == "vocabulary":
        (tmp_path / "vocabulary.json").write_text('["a"]')
    elif damage == "tensor":
        config["settings"]["classifier_size"] = 7
    elif damage == "system":
        config["system"] = "rnn"
    (tmp_path / "config.json").write_text(json.dumps(config))
    if damage == "no file":
        (tmp_path / "config.json").unlink()
    with pytest.raises(ModelFormatError):
        load_estimator(tmp_path)


def test_parser_of_a_loaded_model_is_the_one_it_was_trained_with(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=N_ROWS)
    clf = fitted("mv-recnn", epochs=1, parser=SpanParser(weights))
    clf.save(tmp_path)
    again = load_estimator(tmp_path)
    np.testing.assert_array_equal(again.parser.weights, weights.astype(np.float32))
