"""Networks trained together give the records of networks trained one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from adasent.data.span_parser import N_ROWS, SpanParser
from adasent.estimators import neural, registry
from adasent.training.history import History
from adasent.training.loop import train
from adasent.training.run import Run
from adasent.vectors.words import WordVectors
from experiment_cases import toy_corpus
from reproduction.ablations import ABLATIONS, make_ablation
from reproduction.run import run_task
from reproduction.specs import Experiments, experiments
from reproduction.store import Store
from reproduction.tasks import Tasks, Trees
from reproduction.together import TextsOnce, run_together

PARSER = SpanParser(np.zeros(N_ROWS))
NETWORKS = ["adasent", "cbow", "rnn", "brnn", "grconv", "cnn", "dcnn", "rae", "mv-recnn"]


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Tasks:
    plan = experiments()
    protocol = replace(plan.protocol, n_folds=3, epochs=2, vectors=("toy",), n_settings=2)
    systems = {
        name: replace(plan.systems[name], variants=plan.systems[name].variants[:1])
        for name in NETWORKS
    }
    protocol = replace(protocol, ablated=("CR",))
    tasks = Tasks(Experiments(protocol, systems, plan.ablations), read=toy_corpus)
    words = sorted({word for text in toy_corpus("CR").texts for word in text.split()})
    matrix = np.random.default_rng(0).normal(size=(len(words), 8))
    monkeypatch.setattr(tasks, "_source", lambda name: WordVectors(words, matrix))
    monkeypatch.setattr(tasks, "_described", lambda name: {"name": name, "sha256": "0"})
    monkeypatch.setattr(tasks, "_trees", lambda data: Trees(PARSER, None, "toy"))
    make = registry.make

    def small(system: str, **settings: object) -> object:
        if system == "mv-recnn":
            settings |= {"hidden_size": 4, "rank": 2}
        return make(system, **settings)

    monkeypatch.setattr(registry, "make", small)
    return tasks


@pytest.mark.parametrize("system", NETWORKS)
def test_records_are_those_of_single_runs(system: str, tasks: Tasks, tmp_path: Path) -> None:
    units = [u for u in tasks.plan.units("table2", ["CR"], [system]) if u.rule == "random"]
    store = Store(tmp_path)
    found = dict(run_together(units, tasks, store))
    assert len(found) == 3
    alone = run_task(tasks.task(units[1]))
    record = found[units[1]]
    assert record.predicted == alone.predicted
    assert record.chosen == alone.chosen
    assert [row["accuracy"] for row in record.tried or []] == pytest.approx(
        [row["accuracy"] for row in alone.tried or []]
    )
    assert "6 models together" in record.device
    assert not list(run_together(units, tasks, store))  # all are there


@pytest.mark.parametrize("system", ["adasent", "mv-recnn"])
def test_networks_are_trained_again_together(system: str, tasks: Tasks, tmp_path: Path) -> None:
    units = tasks.plan.units("refit", ["CR"], [system])
    found = dict(run_together(units, tasks, Store(tmp_path)))
    firsts = [replace(unit, table="table2") for unit in units]
    once = dict(run_together(firsts, tasks, Store(tmp_path)))
    record, first = found[units[1]], once[firsts[1]]
    alone = run_task(tasks.task(units[1]))
    assert record.predicted == alone.predicted
    assert (record.n_train, record.n_valid) == (alone.n_train, alone.n_valid)
    assert (record.n_train, record.n_valid) == (first.n_train + first.n_valid, 0)
    assert (record.chosen, record.best_epoch) == (first.chosen, first.best_epoch)
    assert record.history == first.history
    assert record.before == alone.before == first.predicted
    assert not first.before


def test_systems_with_and_without_trees_share_texts(tasks: Tasks, tmp_path: Path) -> None:
    texts = TextsOnce()
    for system in ("mv-recnn", "rae", "mv-recnn", "cbow"):
        units = [u for u in tasks.plan.units("table2", ["CR"], [system]) if u.rule == "random"]
        found = dict(run_together(units[:1], tasks, Store(tmp_path / system), texts=texts))
        if system != "cbow":
            continue
        assert found[units[0]].predicted == run_task(tasks.task(units[0])).predicted


def test_texts_are_not_shared_beyond_the_words_that_are_kept(tasks: Tasks) -> None:
    task = tasks.task(tasks.plan.units("table2", ["CR"], ["cbow"])[0])
    texts = TextsOnce()
    sizes = []
    for n in (0, 100, 0):
        estimator = registry.make("cbow", **(task.common | {"extra_words": n}))
        sizes.append(len(texts(estimator, task).table))
    assert sizes[0] == sizes[2] < sizes[1]


def test_a_stack_without_room_is_run_in_halves(
    tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = [u for u in tasks.plan.units("table2", ["CR"], ["cbow"]) if u.rule == "random"]
    whole = dict(run_together(units, tasks, Store(tmp_path / "whole")))
    sizes = []

    def with_little_room(runs: list[Run], **settings: object) -> list[History]:
        sizes.append(len(runs))
        if len(runs) > 2:
            raise torch.OutOfMemoryError("no room")
        return train(runs, **settings)

    monkeypatch.setattr(neural, "train", with_little_room)
    halves = dict(run_together(units, tasks, Store(tmp_path / "halves")))
    assert sizes == [6, 2, 4, 2, 2]
    assert list(halves) == units
    for unit in units:
        assert halves[unit].predicted == whole[unit].predicted
    monkeypatch.setattr(
        neural, "train", lambda runs: (_ for _ in ()).throw(torch.OutOfMemoryError("none"))
    )
    with pytest.raises(torch.OutOfMemoryError):
        list(run_together(units, tasks, Store(tmp_path / "none")))


def test_ablations_are_run_like_systems(tasks: Tasks, tmp_path: Path) -> None:
    names = ["default", "words-only", "mean-pooling", "vectors-glove-100d"]
    units = tasks.plan.units("ablations", systems=names)
    found = dict(run_together(units, tasks, Store(tmp_path)))
    assert len(found) == len(units) == 3 * len(names)
    default, words, mean, vectors = (found[unit] for unit in units if unit.fold == 1)
    assert words.spec["network"] == "words only"
    assert mean.spec["settings"] == [{"pooling": "mean"}]
    assert vectors.spec["vectors"] == [{"name": "glove-100d", "sha256": "0"}]
    assert len({record.key for record in found.values()}) == len(units)
    alone = run_task(tasks.task(next(u for u in units if found[u] is words)))
    assert alone.predicted == words.predicted
    assert default.spec["defaults"]["level_norm"] is True


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablations_train_and_predict(name: str) -> None:
    corpus = toy_corpus("CR")
    clf = make_ablation(name, hidden_size=6, vector_size=5, epochs=2, classifier_size=4)
    clf.fit(corpus.texts, corpus.labels)
    probabilities = clf.predict_proba(corpus.texts[:5])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_words_only_ignores_their_order() -> None:
    corpus = toy_corpus("CR")
    settings = {"hidden_size": 6, "vector_size": 5, "epochs": 2, "classifier_size": 4}
    text = corpus.texts[0]
    turned = " ".join(reversed(text.split()))
    found = {}
    for name in ("words only", "no level gate"):
        clf = make_ablation(name, **settings).fit(corpus.texts, corpus.labels)
        found[name] = clf.predict_proba([text, turned])
    np.testing.assert_allclose(found["words only"][0], found["words only"][1], atol=1e-6)
    assert np.abs(found["no level gate"][0] - found["no level gate"][1]).max() > 1e-6
