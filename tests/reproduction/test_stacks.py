"""Networks trained together give the records of networks trained one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from adasent.data.span_parser import N_ROWS, SpanParser
from adasent.estimators import neural, registry
from adasent.evaluation.jobs import train_group
from adasent.evaluation.records import FoldRecord
from adasent.evaluation.runner import run_jobs
from adasent.training.history import History
from adasent.training.loop import train
from adasent.training.run import Run
from adasent.vectors.words import WordVectors
from experiment_cases import toy_corpus
from reproduction.ablations import ABLATIONS, make_ablation
from reproduction.jobs import Jobs
from reproduction.specs import Experiments, PlannedRun, experiments

PARSER = SpanParser(np.zeros(N_ROWS))
NETWORKS = ["adasent", "cbow", "rnn", "brnn", "grconv", "cnn", "dcnn", "rae", "mv-recnn"]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    plan = experiments()
    protocol = replace(plan.protocol, n_folds=3, epochs=2, vectors=("toy",), n_settings=2)
    systems = {
        name: replace(plan.systems[name], variants=plan.systems[name].variants[:1])
        for name in NETWORKS
    }
    protocol = replace(protocol, ablated=("CR",))
    jobs = Jobs(Experiments(protocol, systems, plan.ablations), read=toy_corpus)
    words = sorted({word for text in toy_corpus("CR").texts for word in text.split()})
    matrix = np.random.default_rng(0).normal(size=(len(words), 8))
    vectors = WordVectors(words, matrix)
    monkeypatch.setattr(jobs, "_source", lambda name: vectors)
    monkeypatch.setattr(jobs, "_width", lambda name: 8)
    monkeypatch.setattr(jobs, "_described", lambda name: {"name": name, "sha256": "0"})
    monkeypatch.setattr(jobs, "_trees", lambda data: (PARSER, None))
    make = registry.make

    def small(system: str, **settings: object) -> object:
        if system == "mv-recnn":
            settings |= {"hidden_size": 4, "rank": 2}
        return make(system, **settings)

    monkeypatch.setattr(registry, "make", small)
    return jobs


def together(jobs: Jobs, runs: list[PlannedRun], stack: int = 60) -> list[FoldRecord]:
    """The records of planned runs, trained as one."""
    return [result.record for result in run_jobs(list(map(jobs.job, runs)), stack=stack)]


def alone(jobs: Jobs, run: PlannedRun) -> FoldRecord:
    """The record of a run, one model after the other."""
    (record,) = train_group([jobs.job(run)])
    assert record is not None
    return record


def random_folds(jobs: Jobs, system: str) -> list[PlannedRun]:
    """The runs of a system on a small set."""
    return [run for run in jobs.plan.runs("table2", ["CR"], [system]) if run.rule == "random"]


@pytest.mark.parametrize("system", NETWORKS)
def test_records_are_those_of_single_runs(system: str, jobs: Jobs) -> None:
    runs = random_folds(jobs, system)
    found = together(jobs, runs)
    assert len(found) == 3
    record, single = found[1], alone(jobs, runs[1])
    assert record.predicted == single.predicted
    assert (record.chosen, record.best_epoch) == (single.chosen, single.best_epoch)
    assert [row["accuracy"] for row in record.tried] == [row["accuracy"] for row in single.tried]
    assert (record.n_together, single.n_together) == (6, 1)
    assert record.key == single.key


@pytest.mark.parametrize("system", ["adasent", "mv-recnn"])
def test_networks_are_trained_again_together(system: str, jobs: Jobs) -> None:
    runs = jobs.plan.runs("refit", ["CR"], [system])
    record = together(jobs, runs)[1]
    first = together(jobs, [replace(run, table="table2") for run in runs])[1]
    single = alone(jobs, runs[1])
    assert record.predicted == single.predicted
    assert (record.n_train, record.n_valid) == (single.n_train, single.n_valid)
    assert (record.n_train, record.n_valid) == (first.n_train + first.n_valid, 0)
    assert (record.chosen, record.best_epoch) == (first.chosen, first.best_epoch)
    assert record.before == single.before == first.predicted
    assert not first.before


def test_a_stack_without_room_is_run_in_halves(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = random_folds(jobs, "cbow")
    whole = together(jobs, runs)
    sizes = []

    def with_little_room(runs: list[Run], **settings: Any) -> list[History]:
        sizes.append(len(runs))
        if len(runs) > 2:
            raise torch.OutOfMemoryError("no room")
        return train(runs, **settings)

    monkeypatch.setattr(neural, "train", with_little_room)
    halves = together(jobs, runs)
    assert sizes == [6, 3, 1, 2, 3, 1, 2]
    assert [record.predicted for record in halves] == [record.predicted for record in whole]


def test_ablations_are_run_like_systems(jobs: Jobs) -> None:
    names = ["default", "root-only", "max-pooling", "vectors-glove-100d"]
    runs = jobs.plan.runs("ablations", ["CR"], names)
    found = dict(zip(runs, together(jobs, runs), strict=True))
    assert len(found) == 3 * len(names)
    default, root, pooled, vectors = (found[run] for run in runs if run.fold == 1)
    assert root.spec["network"] == "root only"
    assert pooled.spec["settings"] == [{"pooling": "max"}]
    assert vectors.spec["vectors"] == [{"name": "glove-100d", "sha256": "0"}]
    assert len({record.key for record in found.values()}) == len(runs)
    single = alone(jobs, next(run for run in runs if found[run] is root))
    assert single.predicted == root.predicted
    assert default.spec["defaults"]["level_norm"] is True


SMALL = {"hidden_size": 6, "vector_size": 5, "epochs": 2, "classifier_size": 4}


@pytest.mark.parametrize("gate_groups", [1, 3])
@pytest.mark.parametrize("name", ABLATIONS)
def test_ablations_train_and_predict(name: str, gate_groups: int) -> None:
    corpus = toy_corpus("CR")
    clf = make_ablation(name, **SMALL, gate_groups=gate_groups, level_loss=0.3, max_height=2)
    clf.fit(corpus.texts, corpus.labels)
    probabilities = clf.predict_proba(corpus.texts[:5])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_the_root_is_the_only_level_that_counts() -> None:
    corpus = toy_corpus("CR")
    clf = make_ablation("root only", **SMALL).fit(corpus.texts, corpus.labels)
    ids, lengths = torch.tensor([[2, 3, 4], [2, 0, 0]]), torch.tensor([3, 1])
    with torch.no_grad():
        output = clf.model_(ids, lengths)
    assert output.log_beliefs.exp().tolist() == [[0, 0, 1], [1, 0, 0]]
    torch.testing.assert_close(output.log_probs[0], output.level_log_probs[0, 2])


def test_gates_that_stay_as_they_start() -> None:
    corpus = toy_corpus("CR")
    clf = make_ablation("fixed local gates", **SMALL, gate_groups=3, copy_bias=2.0)
    weights = clf.fit(corpus.texts, corpus.labels).model_.composition.weights()
    assert weights.gate_bias.tolist() == [1.0] * 6 + [0.0] * 3
    assert not weights.gate_left.any()
