"""The protocol: who sees which texts, which setting wins, what the record says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.estimators import registry
from adasent.vectors.words import WordVectors, write_vectors
from experiment_cases import EarlyRule, Rule, toy_corpus
from reproduction.run import run_missing, run_task
from reproduction.specs import Experiments, SystemSpec, Unit
from reproduction.store import Store
from reproduction.tasks import Tasks

pytestmark = pytest.mark.usefixtures("toy_registry")


@pytest.fixture
def tasks(plan: Experiments) -> Tasks:
    return Tasks(plan, read=toy_corpus)


class Factory:
    """Makes estimators and keeps them."""

    def __init__(self, kind: type[Rule]) -> None:
        self.kind = kind
        self.made: list[Any] = []

    def __call__(self, system: str, **settings: Any) -> Rule:
        self.made.append(self.kind(**settings))
        return self.made[-1]


def unit(data: str = "MR", rule: str = "random", fold: int = 0, seed: int = 0) -> Unit:
    return Unit("table2", "adasent", data, rule, fold, 1 if data == "TREC" else 5, seed)


def test_parts_do_not_overlap(tasks: Tasks) -> None:
    tested: list[int] = []
    for fold in range(5):
        task = tasks.task(unit(fold=fold))
        parts = [set(part.tolist()) for part in (task.train, task.dev, task.test)]
        assert set.union(*parts) == set(range(60))
        assert sum(map(len, parts)) == 60
        tested += task.test.tolist()
    assert sorted(tested) == list(range(60))


def test_the_dev_part_is_the_same_for_every_system_and_seed(tasks: Tasks) -> None:
    one = tasks.task(unit())
    other = tasks.task(Unit("table2", "grconv", "MR", "random", 0, 5, seed=3))
    np.testing.assert_array_equal(one.dev, other.dev)


@pytest.mark.parametrize("data", ["CR", "TREC"])
def test_grouped_keeps_equal_texts_together(tasks: Tasks, data: str) -> None:
    def straddling(rule: str) -> int:
        task = tasks.task(unit(data, rule, fold=0))
        texts = toy_corpus(data).texts
        known = {texts[i] for i in [*task.train, *task.dev]}
        return sum(texts[i] in known for i in task.test)

    assert straddling("grouped") == 0
    assert data == "CR" or straddling("random") == 1
    if data == "TREC":  # the test part stays whole, training loses one
        assert len(tasks.folds("TREC", "grouped")[0].test) == 12
        assert len(tasks.folds("TREC", "grouped")[0].train) == 47


def test_a_system_that_stops_early(tasks: Tasks) -> None:
    factory = Factory(EarlyRule)
    task = tasks.task(unit())
    assert [setting.get("rate") for setting in task.settings] == [None, 4]
    task.settings[1]["rate"] = 2  # the one that is right
    record = run_task(task, factory)
    assert len(factory.made) == 2
    for made in factory.made:
        assert made.fitted_on == [task.part(task.train)[0]]
        assert made.validation == task.part(task.dev)
        assert made.common == {"tokenizer": "kim", "random_state": 0}
    assert record.chosen == 1
    assert [trial["accuracy"] for trial in record.tried] == sorted(
        trial["accuracy"] for trial in record.tried
    )
    assert (record.n_train, record.n_valid, record.n_test) == (43, 5, 12)
    assert record.history == [{"epoch": 0, "train_loss": 0.12346, "valid_loss": 0.5}]
    truth = [toy_corpus("MR").labels[i] for i in record.test]
    assert [record.classes[i] for i in record.true] == truth
    assert record.key == task.key
    assert record.versions["numpy"] == np.__version__


def test_a_system_that_does_not_is_trained_again_on_both_parts(tasks: Tasks) -> None:
    factory = Factory(Rule)
    task = tasks.task(unit())
    record = run_task(task, factory)
    assert len(factory.made) == 3
    assert factory.made[2].rate == factory.made[record.chosen or 0].rate
    assert sorted(factory.made[2].fitted_on[0]) == sorted(
        [*task.part(task.train)[0], *task.part(task.dev)[0]]
    )
    assert (record.n_train, record.n_valid) == (48, 0)
    assert record.history == []
    assert record.device == "cpu"


def test_a_network_is_trained_again_for_the_epochs_that_were_best(tasks: Tasks) -> None:
    class Rows(list[Any]):
        best_epoch = 6

    class Epochs(Rule):
        def fit(self, X: Any, y: Any, validation: Any = None) -> Epochs:
            super().fit(X, y)
            self.validation, self.history_ = validation, Rows()
            return self

    factory = Factory(Epochs)
    task = replace(tasks.task(unit()), refit=True)
    record = run_task(task, factory)
    *tried, final = factory.made
    assert [made.common.get("epochs") for made in tried] == [None, None]
    assert (final.common["epochs"], final.common["validation_fraction"]) == (7, 0.0)
    assert final.rate == tried[record.chosen or 0].rate
    assert final.validation is None
    assert final.fitted_on == [task.part(task.train)[0] + task.part(task.dev)[0]]
    assert (record.n_train, record.n_valid, record.best_epoch) == (48, 0, 6)


def test_the_table_of_second_trainings(plan: Experiments) -> None:
    units = plan.units("refit", ["CR"])
    assert {unit.rule for unit in units} <= {"random"}
    networks = {name for name, system in plan.systems.items() if system.vectors}
    assert {unit.system for unit in units} == networks
    tasks = Tasks(plan, read=toy_corpus)
    task = tasks.task(replace(unit(), table="refit"))
    assert task.refit
    assert task.settings == tasks.task(unit()).settings
    assert task.key != tasks.task(unit()).key
    assert not tasks.task(unit()).refit


def test_of_equal_settings_the_first_wins(tasks: Tasks) -> None:
    task = tasks.task(unit())
    task.settings[1].clear()
    assert run_task(task, Factory(EarlyRule)).chosen == 0


def test_vectors_are_read_once_and_pinned(plan: Experiments, tmp_path: Path) -> None:
    path = tmp_path / "mine.bin"
    write_vectors(path, WordVectors(["good", "bad"], np.eye(2)))
    protocol = plan.protocol.__class__(n_folds=5, n_settings=2, vectors=(str(path),), extra_words=7)
    system = SystemSpec("adasent", "AdaSent", vectors=True, variants=({"rate": 1},))
    tasks = Tasks(Experiments(protocol, {"adasent": system}), read=toy_corpus)
    one, two = tasks.task(unit()), tasks.task(unit(fold=1))
    assert one.common["vectors"][0] is two.common["vectors"][0]
    assert one.common["epochs"] == 20
    assert one.common["patience"] == 5
    assert one.common["extra_words"] == one.spec["extra_words"] == 7
    assert one.spec["vectors"][0]["name"] == "mine.bin"
    assert len(one.spec["vectors"][0]["sha256"]) == 64


def test_a_run_cut_short_is_no_result(tasks: Tasks) -> None:
    class History(list[Any]):
        interrupted = True

    class Cut(EarlyRule):
        def fit(self, X: Any, y: Any, validation: Any = None) -> Cut:
            self.history_ = History()
            return self

    with pytest.raises(KeyboardInterrupt):
        run_task(tasks.task(unit()), Factory(Cut))


def test_finished_units_are_skipped(tasks: Tasks, plan: Experiments, tmp_path: Path) -> None:
    store = Store(tmp_path)
    units = plan.units("table2", ["MR"], ["adasent"])
    done: list[Unit] = []

    def runner(task: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.unit)
        return run_task(task, Factory(EarlyRule))

    with pytest.raises(KeyboardInterrupt):
        list(run_missing(units, tasks, store, runner))
    assert len(store.records("table2")) == 2
    rest = list(run_missing(units, tasks, store, lambda t: run_task(t, Factory(EarlyRule))))
    assert [record is None for _, record in rest] == [True, True, False, False, False]
    assert sorted(r.fold for r in store.records("table2")) == [0, 1, 2, 3, 4]


def test_the_registry_is_asked_by_default(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make", Factory(EarlyRule))
    assert run_task(tasks.task(unit())).n_test == 12
