"""The data of the figures from a small model, their tables, and the pictures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier, load
from adasent.data import Corpus
from adasent.data import registry as data_registry
from adasent.data.registry import Entry
from adasent.errors import DataError
from adasent.estimators.predictor import Predictor
from experiment_cases import NAMES
from reproduction import figure_runs, figures
from reproduction.figure_runs import Models, compute_figure
from reproduction.figure_tables import figure_tables
from reproduction.figures import (
    FIGURES,
    belief_rows,
    check_figure,
    example,
    find_example,
    most_believed,
    pca_panel,
    pooled_words,
    principal_components,
)
from reproduction.jobs import Jobs
from reproduction.paper import paper
from reproduction.plots import draw
from reproduction.render import to_text
from reproduction.specs import Experiments, Protocol, SystemSpec

WORDS = ["good", "bad", "film", "plot", "very", "not", "a", "the"]


def corpus(name: str) -> Corpus:
    """Texts of twelve words, and the paper's sentence."""
    rng = np.random.default_rng(len(name))
    texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(40)]
    texts[7] = paper()["figures"]["example"]["sentence"].lower().replace(" it ", " , it ")
    labels = [
        "positive" if text.count("good") >= text.count("bad") else "negative" for text in texts
    ]
    labels[0], labels[1] = "positive", "negative"
    test = np.arange(30, 40) if NAMES[name] == "official" else None
    return Corpus(name, texts, list(labels), "00", test=test)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    texts = corpus("MR")
    clf = AdaSentClassifier(hidden_size=6, vector_size=5, classifier_size=6, epochs=1)
    folder = tmp_path_factory.mktemp("model") / "MR"
    clf.fit(texts.texts, texts.labels).save(folder)
    return load(folder)


class TinyCbow:
    """Stands in for the registry's cBoW."""

    def __init__(self, **settings: Any) -> None:
        table = torch.arange(12.0).reshape(4, 3)
        embedding = SimpleNamespace(trained=table[:3], fixed=table[3:])
        self.model_ = SimpleNamespace(embedding=embedding, config=SimpleNamespace(pooling="mean"))

    def fit(self, X: Any, y: Any, validation: Any = None) -> TinyCbow:
        return self

    def encoder_(self, texts: list[str]) -> list[np.ndarray]:
        return [np.array([len(text) % 4, text.count("good") % 4]) for text in texts]


def make(system: str, network: str | None, **settings: Any) -> Any:
    if system == "cbow":
        return TinyCbow(**settings)
    tiny = {"hidden_size": 6, "vector_size": 5, "classifier_size": 6, "epochs": 1}
    return AdaSentClassifier(**(settings | tiny))


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    entries = {
        name: Entry(name, "", "", "", "", (), reader="lines", split=split)
        for name, split in NAMES.items()
    }
    monkeypatch.setattr(data_registry, "_entries", lambda: entries)
    plan = Experiments(
        Protocol(n_folds=4, n_settings=1),
        {name: SystemSpec(name, name) for name in ("adasent", "cbow")},
    )
    return Models(Jobs(plan, read=corpus, make=make), tmp_path / "models")


def test_every_figure_is_computed_written_and_drawn(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FIGURES:
        data = json.loads(json.dumps(compute_figure(name, models)))
        assert check_figure(name, data) is data
        text = "".join(to_text(table) for table in figure_tables(data))
        assert len(text.splitlines()) > 5
        for suffix in ("svg", "png"):
            draw(data, tmp_path / f"{name}.{suffix}")
            assert (tmp_path / f"{name}.{suffix}").stat().st_size > 1000
    again = Models(models.jobs, models.folder)
    monkeypatch.setattr(Models, "fitted", None)  # nothing is left to train
    assert compute_figure("fig-belief", again) == compute_figure("fig-belief", models)


def test_equal_data_gives_equal_pictures(models: Models, tmp_path: Path) -> None:
    data = compute_figure("fig-example", models)
    for name in ("a.svg", "b.svg"):
        draw(data, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_beliefs_are_of_unseen_sentences(models: Models) -> None:
    data = compute_figure("fig-belief", models)
    assert [row["data"] for row in data["rows"]] == [s for s in NAMES for _ in range(2)]
    for row in data["rows"]:
        assert len(row["beliefs"]) == 12
        assert sum(row["beliefs"]) == pytest.approx(1, abs=1e-4)
        assert row["position"] in models.job("adasent", row["data"]).test
        assert len(row["text"].split()) == 6  # five words and a mark
    (table,) = figure_tables(data)
    assert table.columns[:3] == ("Text", "set", "1")


def test_the_papers_sentence_is_left_out_of_training(models: Models) -> None:
    assert find_example(corpus("MR")) == 7
    assert 7 in models.job("adasent", "MR").test
    data = compute_figure("fig-example", models)
    assert data["text"].startswith("if the movie were all comedy")
    assert len(data["beliefs"]) == len(data["level_probabilities"]) == len(data["text"].split())
    mixed = np.dot(data["beliefs"], data["level_probabilities"])
    assert mixed == pytest.approx(data["probability"], abs=1e-4)
    with pytest.raises(DataError, match="does not hold the sentence"):
        find_example(Corpus("MR", ["a"], ["b"], "00"))


def test_probability_of_the_named_class(predictor: Predictor) -> None:
    one = example(predictor, "good film", "positive", "positive")
    other = example(predictor, "good film", "positive", "negative")
    assert one["probability"] + other["probability"] == pytest.approx(1, abs=1e-5)


def test_too_few_sentences(predictor: Predictor) -> None:
    with pytest.raises(DataError, match="expected 2 unseen texts of 12 words, found 1"):
        belief_rows("MR", predictor, corpus("MR"), np.array([3]))


def test_most_believed_level(predictor: Predictor) -> None:
    texts = ["a good film", "bad"]
    found = most_believed(predictor, texts)
    for row, text in zip(found, texts, strict=True):
        trace = predictor.trace(text)
        np.testing.assert_array_equal(row, trace.levels[trace.beliefs.argmax()].astype(float))


def test_pooled_words() -> None:
    cbow = TinyCbow()
    cbow.encoder_ = lambda texts: [np.array([0, 3])]  # type: ignore[method-assign,assignment]
    np.testing.assert_allclose(pooled_words(cbow, ["x"]), [[4.5, 5.5, 6.5]])
    cbow.model_.config.pooling = "max"
    np.testing.assert_allclose(pooled_words(cbow, ["x"]), [[9.0, 10.0, 11.0]])


def test_principal_components() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 4)) * [5, 2, 0.1, 0.1]
    points, explained = principal_components(features)
    centred = features - features.mean(axis=0)
    assert np.abs(np.corrcoef(points[:, 0], centred[:, 0])[0, 1]) > 0.99
    assert explained[0] > explained[1] > 0.05
    assert explained.sum() > 0.99
    flipped, _ = principal_components(features[::-1])
    np.testing.assert_allclose(flipped[::-1], points, atol=1e-9)


def test_classes_that_stand_apart() -> None:
    labels = ["a"] * 50 + ["b"] * 50
    features = np.random.default_rng(0).normal(size=(100, 3)) + 20 * np.repeat([[0], [1]], 50, 0)
    unseen = np.arange(40, 60)
    panel = pca_panel("MR", "cBoW", features, list(labels), unseen)
    assert panel["separated"] == 1.0
    assert (panel["n"], panel["n_unseen"], len(panel["points"])) == (100, 20, 20)
    assert panel["drawn"] == "unseen"
    assert set(panel["codes"]) == {0, 1}
    # Texts that were seen have no say in it: a model may have learned them by heart.
    features[unseen] = features[unseen[::-1]]
    assert pca_panel("MR", "cBoW", features, list(labels), unseen)["separated"] == 0.0


def test_only_some_points_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_MAX_POINTS", 7)
    features = np.random.default_rng(0).normal(size=(20, 3))
    panel = pca_panel("MR", "cBoW", features, ["a", "b"] * 10, np.arange(8))
    assert (panel["n"], len(panel["points"]), len(panel["codes"])) == (20, 7, 7)
    panel = pca_panel("MR", "cBoW", features, ["a", "b"] * 10, np.arange(4))
    assert len(panel["points"]) == 4  # only texts that the model was not trained on


def test_figures_say_whose_models_they_are_of(models: Models) -> None:
    (facts,) = compute_figure("fig-composition", models)["models"]
    task = models.job("adasent", "MR")
    texts, labels = task.part(task.test)
    right = models.predictor("MR").predict(texts) == np.array(labels)
    assert facts["accuracy"] == pytest.approx(right.mean())
    assert (facts["data"], facts["n_test"]) == ("MR", len(texts))
    assert (models.folder / ".gitignore").read_text() == "*\n"


def test_any_short_phrase(models: Models) -> None:
    data = compute_figure("fig-composition", models, ["good film"])
    (phrase,) = data["phrases"]
    assert phrase["tokens"] == ["good", "film"]
    for wrong in ("", "a b c d e f g h i"):
        with pytest.raises(DataError, match="expected a phrase of 1 to 8 words"):
            compute_figure("fig-composition", models, [wrong])


def test_composition_says_how_exact_it_is(models: Models) -> None:
    data = compute_figure("fig-composition", models)
    short, long = data["phrases"]
    assert (len(short["tokens"]), len(long["tokens"])) == (3, 8)
    assert max(short["weight_error"], long["weight_error"]) < 1e-10
    assert max(short["unit_error"], long["unit_error"]) < 1e-10
    assert len(short["trees"]) == 12
    assert "trees" not in long
    tables = figure_tables(data)
    assert len(tables[0].rows) == 6
    assert tables[1].notes[1].startswith("24 more parts weigh")
    assert any("((not very) good)" in tree["tree"] for tree in short["trees"])


@pytest.mark.parametrize("values", [None, [], {}, {"figure": "fig-pca"}])
def test_data_of_another_figure(values: Any) -> None:
    with pytest.raises(DataError, match="expected the data of fig-belief"):
        check_figure("fig-belief", values)


def test_every_figure_has_a_maker() -> None:
    assert tuple(figure_runs._COMPUTE) == FIGURES
