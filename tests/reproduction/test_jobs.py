"""The protocol's jobs: who sees which texts, what is tried, what the record will say."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.estimators import registry
from adasent.estimators.neural import NeuralClassifier
from adasent.evaluation.jobs import train_group
from adasent.vectors.words import WordVectors, write_vectors
from experiment_cases import EarlyRule, toy_corpus
from reproduction.jobs import Jobs
from reproduction.specs import Ablation, Experiments, PlannedRun, Protocol, SystemSpec

pytestmark = pytest.mark.usefixtures("toy_registry")


@pytest.fixture
def jobs(plan: Experiments) -> Jobs:
    return Jobs(plan, read=toy_corpus)


def planned(data: str = "MR", rule: str = "random", fold: int = 0, seed: int = 0) -> PlannedRun:
    return PlannedRun("table2", "adasent", data, rule, fold, 1 if data == "TREC" else 5, seed)


def test_a_copy_for_a_worker_makes_the_same_runs(jobs: Jobs) -> None:
    job = jobs.job(planned())
    there = copy.copy(job.make.func.__self__)  # type: ignore[attr-defined]
    assert not any(hasattr(value, "cache_info") for value in there.__getstate__().values())
    assert there.corpus("MR") is jobs.corpus("MR")  # texts go along
    again = there.job(planned())
    assert again.key == job.key
    np.testing.assert_array_equal(again.test, job.test)


def test_parts_do_not_overlap(jobs: Jobs) -> None:
    tested: list[int] = []
    for fold in range(5):
        job = jobs.job(planned(fold=fold))
        assert job.dev is not None
        parts = [set(part.tolist()) for part in (job.train, job.dev, job.test)]
        assert set.union(*parts) == set(range(60))
        assert sum(map(len, parts)) == 60
        tested += job.test.tolist()
    assert sorted(tested) == list(range(60))


def test_the_dev_part_is_the_same_for_every_system_and_seed(jobs: Jobs) -> None:
    one = jobs.job(planned())
    other = jobs.job(PlannedRun("table2", "grconv", "MR", "random", 0, 5, seed=3))
    assert one.dev is not None
    np.testing.assert_array_equal(one.dev, other.dev)
    assert (one.seed, other.seed) == (0, 3)


@pytest.mark.parametrize("data", ["CR", "TREC"])
def test_grouped_keeps_equal_texts_together(jobs: Jobs, data: str) -> None:
    def straddling(rule: str) -> int:
        job = jobs.job(planned(data, rule, fold=0))
        assert job.dev is not None
        texts = toy_corpus(data).texts
        known = {texts[i] for i in [*job.train, *job.dev]}
        return sum(texts[i] in known for i in job.test)

    assert straddling("grouped") == 0
    assert data == "CR" or straddling("random") == 1
    if data == "TREC":  # the test part stays whole, training loses one
        assert len(jobs.folds("TREC", "grouped")[0].test) == 12
        assert len(jobs.folds("TREC", "grouped")[0].train) == 47


def test_a_job_makes_the_system_with_what_the_protocol_says(plan: Experiments) -> None:
    made: list[Any] = []

    def make(system: str, network: str | None, **settings: Any) -> EarlyRule:
        assert (system, network) == ("adasent", None)
        made.append(EarlyRule(**settings))
        return made[-1]

    job = Jobs(plan, read=toy_corpus, make=make).job(planned(seed=2))
    assert [dict(setting) for setting in job.settings] == [{}, {"rate": 4}]
    (record,) = train_group([job])
    assert record is not None
    assert [estimator.rate for estimator in made] == [0, 4]
    common = {"tokenizer": "kim", "max_words": 2000, "random_state": 2}
    assert all(e.common == common for e in made)
    assert (record.n_train, record.n_valid, record.n_test) == (43, 5, 12)
    assert record.spec["settings"] == job.settings
    assert (record.spec["table"], record.spec["system"]) == ("table2", "adasent")


def test_the_registry_is_asked_by_default(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make", lambda system, **settings: EarlyRule(**settings))
    (record,) = train_group([jobs.job(planned())])
    assert record is not None
    assert record.n_test == 12


def test_the_table_of_second_trainings(plan: Experiments) -> None:
    runs = plan.runs("refit", ["CR"])
    assert {run.rule for run in runs} <= {"random"}
    networks = {name for name, system in plan.systems.items() if system.vectors}
    assert {run.system for run in runs} == networks
    jobs = Jobs(plan, read=toy_corpus)
    job = jobs.job(replace(planned(), table="refit"))
    assert job.refit
    assert job.settings == jobs.job(planned()).settings
    assert job.key != jobs.job(planned()).key
    assert not jobs.job(planned()).refit


def test_vectors_are_read_once_and_pinned(
    plan: Experiments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.bin"
    write_vectors(path, WordVectors(["good", "bad"], np.eye(2)))
    protocol = plan.protocol.__class__(n_folds=5, n_settings=2, vectors=(str(path),), extra_words=7)
    system = SystemSpec("adasent", "AdaSent", vectors=True, variants=({"dropout": 0.1},))
    jobs = Jobs(Experiments(protocol, {"adasent": system}), read=toy_corpus)
    reads: list[str] = []
    read = jobs._read_source
    monkeypatch.setattr(jobs, "_source", lambda name: reads.append(name) or read(name))
    one, two = jobs.job(planned()), jobs.job(planned(fold=1))
    assert reads == []  # to find that a run is recorded, no vectors are needed
    assert one.spec["vectors"] == two.spec["vectors"]
    assert one.spec["vectors"][0]["name"] == "mine.bin"
    assert len(one.spec["vectors"][0]["sha256"]) == 64
    estimator = one.estimator(one.settings[1])
    assert reads == [str(path)]
    assert (estimator.epochs, estimator.patience, estimator.dropout) == (20, 5, 0.1)
    assert estimator.extra_words == one.spec["extra_words"] == 7
    assert one.estimator(one.settings[0]).vectors is estimator.vectors


def test_settings_of_a_network_share_encoded_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.bin"
    write_vectors(path, WordVectors(["good", "bad"], np.eye(2)))
    protocol = Protocol(n_folds=5, n_settings=2, vectors=(str(path),), epochs=1)
    system = SystemSpec("cbow", "cBoW", vectors=True, variants=({"dropout": 0.1},))
    jobs = Jobs(Experiments(protocol, {"cbow": system}), read=toy_corpus)
    encode, calls = NeuralClassifier.encode, []

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(self)
        return encode(self, *args, **kwargs)

    monkeypatch.setattr(NeuralClassifier, "encode", counted)
    (record,) = train_group([jobs.job(replace(planned(), system="cbow"))])
    assert record is not None
    assert len(record.tried) == 2
    assert len(calls) == 1


def test_another_division_into_folds(jobs: Jobs) -> None:
    one, two = jobs.job(planned()), jobs.job(replace(planned(), fold_seed=1))
    assert one.test.tolist() != two.test.tolist()
    assert (one.spec["fold_seed"], two.spec["fold_seed"]) == (0, 1)
    assert one.key != two.key


def test_what_a_row_or_an_ablation_gives(plan: Experiments, monkeypatch: Any) -> None:
    paper = SystemSpec("old", "Old", True, variants=({},), of="adasent", base={"dropout": 0.0})
    ours, brnn = (
        SystemSpec(name, name, vectors=True, variants=({},)) for name in ("adasent", "brnn")
    )
    ablations = {
        "vectors": Ablation("vectors", vectors=("narrow",)),
        "trained": Ablation("trained", system="brnn", training="adasent"),
        "plain": Ablation("plain"),
    }
    protocol = replace(plan.protocol, vectors=("wide",))
    systems = {row.name: row for row in (paper, ours, brnn)}
    jobs = Jobs(Experiments(protocol, systems, ablations), read=toy_corpus)
    monkeypatch.setattr(jobs, "_width", {"wide": 556, "narrow": 50}.__getitem__)

    def given(table: str, system: str) -> dict[str, Any]:
        return jobs.given(PlannedRun(table, system, "MR", "random", 0, 5, 0))

    assert given("table2", "old") == {"dropout": 0.0}
    assert given("table2", "adasent") == given("ablations", "plain") == {}
    suited_to = registry.find("adasent").suited_to
    assert given("ablations", "vectors") == suited_to(556)  # not those of 50 dimensions
    ours_training = registry.defaults("adasent")
    trained = given("ablations", "trained")
    assert {"optimizer", "penalty", "word_dropout"} <= trained.keys()
    assert all(value == ours_training[name] for name, value in trained.items())
    assert not trained.keys() & {"epochs", "patience", "hidden_size"}
    monkeypatch.setattr(jobs, "_described", lambda name: {"name": name, "sha256": "0"})
    job = jobs.job(PlannedRun("ablations", "vectors", "MR", "random", 0, 5, 0))
    assert job.spec["defaults"]["learning_rate"] == suited_to(556)["learning_rate"]
    job = jobs.job(PlannedRun("table2", "old", "MR", "random", 0, 5, 0))
    assert job.spec["defaults"]["dropout"] == 0.0
