"""Several labels a text, from ``fit`` to ``adasent.load``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

import adasent
from adasent import AdaSentClassifier
from adasent.errors import AdaSentWarning, ConfigError, DataError, ModelFormatError
from adasent.estimators.counts import NBSVMClassifier
from adasent.estimators.neural import fit_encoded
from adasent.estimators.prediction import network_proba
from adasent.estimators.registry import SYSTEMS, find
from adasent.text.passage import read_passages

Texts = tuple[list[str], list[list[str]]]
TINY: dict[str, Any] = {"vector_size": 12, "epochs": 2, "batch_size": 20, "random_state": 0}
OF_CLASS = {"joy": ["happy", "glad"], "😢": ["sad", "tears"], "anger": ["angry", "rage"]}


def made_up(n: int, seed: int) -> Texts:
    """Texts in which a class that is there has a word."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        own = [name for name in OF_CLASS if rng.random() < 0.4]
        words = [str(rng.choice(OF_CLASS[name])) for name in own]
        words += [f"word{rng.integers(9)}" for _ in range(3)] + [str(i)]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(own[::-1] if i % 2 else own)
    return texts, labels


TEXTS, LABELS = made_up(300, 0)


@pytest.fixture(scope="module")
def fitted() -> AdaSentClassifier:
    settings = TINY | {"hidden_size": 16, "epochs": 15, "learning_rate": 1e-2}
    return AdaSentClassifier(**settings).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def folder(fitted: AdaSentClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("multilabel") / "model"
    fitted.save(path)
    return path


def test_soft_labels() -> None:
    """A half of each label is learnt as a half; 0 and 1 give the model that lists give."""
    texts = [f"word{i % 7} {i}" for i in range(60)]
    clf = AdaSentClassifier(**TINY | {"epochs": 6, "calibrate": False})
    soft = np.tile([0.9, 0.3, 0.5], (60, 1))
    classes = ["x", "y", "z"]
    proba = clf.fit(texts, soft, classes=classes, several=True).predict_proba(texts)
    np.testing.assert_allclose(proba.mean(axis=0), [0.9, 0.3, 0.5], atol=0.1)
    hard = (soft > 0.6).astype(float)
    hard[:20, 1] = 1
    hard[20:30, 2] = 1
    lists = [[classes[c] for c in np.flatnonzero(row)] for row in hard]
    mine = clf.fit(texts, hard, classes=classes, several=True).predict_proba(texts)
    np.testing.assert_array_equal(mine, clf.fit(texts, lists).predict_proba(texts))
    with pytest.raises(DataError, match="from 0 to 1"):
        clf.fit(texts, soft + 0.2, classes=classes, several=True)
    with pytest.raises(ConfigError, match="classes="):
        clf.fit(texts, soft, several=True)


def test_it_finds_the_labels_of_texts_it_has_not_seen(fitted: AdaSentClassifier) -> None:
    texts, labels = made_up(100, 1)
    assert fitted.classes_.tolist() == ["anger", "joy", "😢"]
    assert fitted.score(texts, labels) > 0.9  # all labels right and no other
    found = fitted.predict(texts)
    assert found.shape == (100,)
    assert {type(one) for one in found.tolist()} == {tuple}
    assert () in found.tolist()  # of texts without any label
    sums = fitted.predict_proba(texts).sum(axis=1)
    assert sums.min() < 0.5 < 1.5 < sums.max()
    assert fitted.history_.column("valid_accuracy")[-1] > 0.9  # the micro F1
    matrix = MultiLabelBinarizer(classes=fitted.classes_.tolist()).fit_transform(labels)
    assert fitted.score(texts, matrix) == fitted.score(texts, labels)


def test_thresholds_can_be_chosen(fitted: AdaSentClassifier) -> None:
    assert fitted.thresholds_ is not None
    assert ((fitted.thresholds_ > 0) & (fitted.thresholds_ < 1)).all()
    assert set(fitted.predict(TEXTS, 0.0).tolist()) == {("anger", "joy", "😢")}
    assert not any("joy" in one for one in fitted.predict(TEXTS, {"joy": 1.0}))
    with pytest.raises(ConfigError, match="thresholds"):
        fitted.predict(TEXTS, [0.5, 0.5])


def test_the_runtime_says_what_the_network_says(fitted: AdaSentClassifier) -> None:
    passages = read_passages(TEXTS[:20], fitted.encoder_.tokenizer, fitted.encoder_.max_words)
    by_network = network_proba(fitted.model_, fitted.encoder_.rows(passages).ids)
    np.testing.assert_allclose(fitted.predict_proba(TEXTS[:20]), by_network, atol=1e-5)


def test_levels_add_up_to_each_class(fitted: AdaSentClassifier, folder: Path) -> None:
    trace = adasent.load(folder).trace(TEXTS[0])
    mixed = trace.beliefs @ trace.level_probabilities
    np.testing.assert_allclose(mixed, trace.probabilities, atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(TEXTS[:1])[0], mixed, atol=1e-6)


def test_saving_loses_nothing(fitted: AdaSentClassifier, folder: Path) -> None:
    light, again = adasent.load(folder), AdaSentClassifier.load(folder)
    for model in (light, again):
        np.testing.assert_array_equal(model.thresholds_, fitted.thresholds_)
        np.testing.assert_allclose(
            model.predict_proba(TEXTS), fitted.predict_proba(TEXTS), atol=1e-6
        )
        assert model.predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()
        assert model.score(TEXTS, LABELS) == fitted.score(TEXTS, LABELS)
    assert "any of 3 classes" in repr(light)


@pytest.mark.parametrize("value", [None, [0.5], [0.5, 0.5, 2], [0.5, 0.5, "x"], "half", [[]] * 3])
def test_a_folder_with_other_thresholds_is_refused(
    folder: Path, tmp_path: Path, value: object
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"thresholds": value}))
    with pytest.raises(ModelFormatError, match="thresholds"):
        adasent.load(tmp_path)
    config["network"]["multilabel"] = False
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelFormatError, match="thresholds"):
        adasent.load(tmp_path)


def test_examples_of_the_model_have_one_label(fitted: AdaSentClassifier) -> None:
    by_text = dict(zip(TEXTS, LABELS, strict=True))
    for one in fitted.training_["examples"]:
        assert by_text[one["text"]] == [one["label"]]


# -- what y may be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        [tuple(one) for one in LABELS],
        [set(one) for one in LABELS],
        [one[::-1] for one in LABELS],
        [[*one, *one] for one in LABELS],
        pd.Series(LABELS),
    ],
)
def test_order_and_kind_of_the_lists_do_not_matter(y: Any) -> None:
    settings = TINY | {"hidden_size": 8, "epochs": 1}
    first, second = (AdaSentClassifier(**settings).fit(TEXTS[:80], one[:80]) for one in (LABELS, y))
    np.testing.assert_array_equal(first.predict_proba(TEXTS[:9]), second.predict_proba(TEXTS[:9]))


def test_a_matrix_of_0_and_1_is_the_same() -> None:
    settings = TINY | {"hidden_size": 8, "epochs": 1}
    binarizer = MultiLabelBinarizer(classes=["joy", "😢", "anger"])
    matrix = binarizer.fit_transform(LABELS[:80])
    by_list = AdaSentClassifier(**settings).fit(TEXTS[:80], LABELS[:80])
    by_matrix = AdaSentClassifier(**settings).fit(TEXTS[:80], matrix, classes=binarizer.classes_)
    assert by_matrix.classes_.tolist() == by_list.classes_.tolist()
    np.testing.assert_array_equal(
        by_list.predict_proba(TEXTS[:9]), by_matrix.predict_proba(TEXTS[:9])
    )


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b", ["c"]], "list of labels for every text.*single label 'b' at position 1"),
        ([["a"], None, []], "nothing .* at position 1"),
        ([["a"], [None], []], "missing label at position 1"),
        ([["a"], [["b"]], []], "list inside of a list"),
        ([["a"], [1], []], "mixed types"),
        ([[], [], []], "at least one label"),
        ([[1, 0], [0, 1], [1, 1]], "classes=... says what the columns stand for"),
        ([[0.9], [0.2], []], "classes=... says what the columns stand for"),
        ([["a"], ["b"]], "as many labels as texts"),
    ],
)
def test_other_lists_are_refused(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        AdaSentClassifier(**TINY).fit(["x", "y", "z"], y)


def test_soft_labels_stay_what_they_were() -> None:
    texts, soft = ["a b", "c d", "e f"], [[0.9, 0.4], [0.1, 0.9], [0.5, 0.5]]
    with pytest.raises(DataError, match="matrix of 0 and 1 alone"):
        AdaSentClassifier(**TINY).fit(texts, soft, classes=["x", "y"])
    # Rows that all sum to 1 are of texts with one label each.
    clf = AdaSentClassifier(**TINY).fit(texts, np.eye(3), classes=["x", "y", "z"])
    assert clf.thresholds_ is None


def test_class_weight_is_refused_and_sample_weight_counts() -> None:
    with pytest.raises(ConfigError, match="class_weight"):
        AdaSentClassifier(**TINY, class_weight="balanced").fit(TEXTS, LABELS)
    weights = [float("joy" in one) for one in LABELS]
    with pytest.warns(AdaSentWarning, match="of no training text: 'z'"):
        clf = AdaSentClassifier(**TINY, hidden_size=8).fit(
            [*TEXTS, "q"], [*LABELS, ["z"]], sample_weight=[*weights, 0.0]
        )
    assert clf.predict_proba(["happy word1"])[0, 1] > 0.8  # every text that counts has it
    assert clf.training_["n_texts"] == sum(weights)


def test_a_class_without_a_training_text_is_not_predicted() -> None:
    there = np.array([["joy" in one, "anger" in one, False] for one in LABELS], dtype=int)
    with pytest.warns(AdaSentWarning, match="of no training text: 'z'"):
        clf = AdaSentClassifier(**TINY, hidden_size=8).fit(
            TEXTS, there, classes=["joy", "anger", "z"]
        )
    assert clf.predict_proba(TEXTS)[:, 2].max() < 0.05
    assert not any("z" in one for one in clf.predict(TEXTS))


def test_without_a_validation_part_thresholds_are_a_half() -> None:
    clf = AdaSentClassifier(**TINY, hidden_size=8, validation_fraction=0).fit(TEXTS, LABELS)
    assert clf.thresholds_ is not None
    np.testing.assert_array_equal(clf.thresholds_, 0.5)


def test_a_validation_part_of_its_own() -> None:
    settings = TINY | {"hidden_size": 8}
    clf = AdaSentClassifier(**settings).fit(TEXTS, LABELS, validation=(TEXTS[:30], LABELS[:30]))
    assert clf.training_["n_validation"] == 30
    with pytest.raises(DataError, match=r"validation labels \['new'\]"):
        AdaSentClassifier(**settings).fit(TEXTS, LABELS, validation=(["a"], [["new"]]))
    with pytest.raises(DataError, match="list of labels for every text"):
        AdaSentClassifier(**settings).fit(TEXTS, LABELS, validation=(["a"], ["joy"]))


def test_one_class_is_there_or_not() -> None:
    labels = [["joy"] if "joy" in one else [] for one in LABELS]
    settings = TINY | {"hidden_size": 16, "epochs": 12, "learning_rate": 1e-2}
    clf = AdaSentClassifier(**settings).fit(TEXTS, labels)
    assert clf.predict(["happy word1 word2", "word1 word2"]).tolist() == [("joy",), ()]


# -- other systems, and many models --------------------------------------------------------------


@pytest.mark.parametrize(
    "system", [one.name for one in SYSTEMS.values() if one.is_network and not one.trees]
)
def test_the_other_networks_take_several_labels_too(system: str, tmp_path: Path) -> None:
    clf = find(system)(**TINY | {"epochs": 1}).fit(TEXTS[:60], LABELS[:60])
    found = clf.predict_proba(TEXTS[:9])
    assert not np.allclose(found.sum(axis=1), 1)
    assert all(isinstance(one, tuple) for one in clf.predict(TEXTS[:9]))
    clf.save(tmp_path / "m")
    again = adasent.load(tmp_path / "m")
    np.testing.assert_allclose(again.predict_proba(TEXTS[:9]), found, atol=1e-6)
    np.testing.assert_array_equal(again.thresholds_, clf.thresholds_)


def test_systems_that_count_words_refuse_them() -> None:
    with pytest.raises(DataError, match="AdaSent and the other networks take several"):
        NBSVMClassifier().fit(TEXTS, LABELS)


def test_a_stack_gives_the_models_of_single_trainings() -> None:
    settings = TINY | {"hidden_size": 8}
    makers = [AdaSentClassifier(**settings | {"random_state": seed}) for seed in (0, 1)]
    fit_encoded(makers, [one.encode(TEXTS, LABELS) for one in makers])
    for one in makers:
        alone = AdaSentClassifier(**one.get_params()).fit(TEXTS, LABELS)
        np.testing.assert_allclose(
            one.predict_proba(TEXTS[:9]), alone.predict_proba(TEXTS[:9]), atol=1e-4
        )
        column = "valid_accuracy"
        np.testing.assert_allclose(one.history_.column(column), alone.history_.column(column))
