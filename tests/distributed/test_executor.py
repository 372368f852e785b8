"""The executor on a real cluster: the same records as here, each once, whoever dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import executor_cases as cases
import experiment_cases
from adasent.cli.app import app
from adasent.data import Corpus
from adasent.errors import AdaSentError, ConfigError
from adasent.evaluation.crossval import cross_validate
from adasent.evaluation.records import FoldRecord, read_records
from adasent.evaluation.runner import run_jobs
from adasent.evaluation.store import RecordStore
from experiment_cases import EarlyRule, toy_corpus, toy_job

pytest.importorskip("ray")

from adasent.distributed.executor import RayExecutor, ray_executor


@pytest.fixture(autouse=True)
def cases_travel() -> Iterator[None]:
    """The tests' own modules are not installed where workers are."""
    import ray

    for module in (cases, experiment_cases):
        ray.cloudpickle.register_pickle_by_value(module)
    yield
    for module in (cases, experiment_cases):
        ray.cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture
def executor(ray_cluster: Any) -> Any:
    with ray_executor(ray_cluster.address) as made:
        yield made


def but_for_times(record: FoldRecord) -> FoldRecord:
    tried = [{k: v for k, v in one.items() if k != "seconds"} for one in record.tried]
    history = [
        {k: v for k, v in row.items() if k not in ("seconds", "examples_per_second")}
        for row in record.history
    ]
    return replace(record, seconds=0.0, tried=tried, history=history)


def test_as_many_workers_as_cores_and_errors_as_they_are(executor: RayExecutor) -> None:
    assert executor.n_workers == 2
    assert executor.ask(int) == 0
    with pytest.raises(ConfigError, match=r"^dropout must be a number from 0 to 0.95; got 2$"):
        list(executor.run(cases.refuse, None, [2]))


def test_a_cross_validation_has_the_same_records(
    executor: RayExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    settings = {"vectors": None, "vector_size": 8, "epochs": 2}
    validate = partial(cross_validate, toy_corpus("MR"), settings, system="cbow", n_folds=4)
    out = tmp_path / "r.jsonl"
    there = [record for record, _ in validate(out=out, executor=executor)]
    here = [record for record, _ in validate()]
    assert sorted(record.fold for record in read_records(out)) == [0, 1, 2, 3]
    for one, other in zip(there, here, strict=True):
        for row, expected in zip(one.history, other.history, strict=True):
            assert row["train_loss"] == pytest.approx(expected["train_loss"], rel=1e-4)
        assert replace(but_for_times(one), history=[]) == replace(but_for_times(other), history=[])


def when_begun(folder: Path, n: int, act: Callable[[], None]) -> threading.Thread:
    """Acts once so many tasks have begun; then they may end."""

    def watch() -> None:
        until = time.monotonic() + 30
        while len(list(folder.glob("begun-*"))) < n and time.monotonic() < until:
            time.sleep(0.02)
        act()
        (folder / "end").touch()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_node_killed_in_the_middle_changes_no_record(ray_cluster: Any, tmp_path: Path) -> None:
    node = ray_cluster.add_node(n_cpus=1)
    store = RecordStore(tmp_path / "r.jsonl")
    jobs = [toy_job(partial(cases.Waiting, str(tmp_path)), fold) for fold in range(5)]
    watch = when_begun(tmp_path, 3, lambda: ray_cluster.kill_node(node))
    with ray_executor(ray_cluster.address, 3) as executor:
        there = [result.record for result in run_jobs(jobs, store, executor=executor)]
    watch.join()
    here = [result.record for result in run_jobs([replace(j, make=EarlyRule) for j in jobs])]
    assert [but_for_times(one) for one in there] == [but_for_times(one) for one in here]
    assert sorted(record.fold for record in read_records(store.root)) == [0, 1, 2, 3, 4]


def test_a_module_that_workers_lack_is_named(executor: RayExecutor) -> None:
    import ray

    ray.cloudpickle.unregister_pickle_by_value(cases)
    try:
        with pytest.raises(AdaSentError, match=r"could not begin.*'executor_cases'"):
            list(executor.run(cases.add, 1, [2]))
    finally:
        ray.cloudpickle.register_pickle_by_value(cases)


@pytest.mark.slow
def test_ten_folds_are_the_same_though_a_node_is_lost(
    ray_cluster: Any, reviews: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    node, out = ray_cluster.add_node(n_cpus=1), tmp_path / "r.jsonl"
    texts, labels = reviews
    corpus = Corpus("toy", [f"{text} {i}" for i in range(20) for text in texts], labels * 20, "00")
    settings = {"vectors": None, "vector_size": 50, "epochs": 20, "patience": 20}
    validate = partial(cross_validate, corpus, settings, system="cbow")
    killed = threading.Event()

    def watch() -> None:
        until = time.monotonic() + 120
        while len(read_records(out)) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        ray_cluster.kill_node(node)
        if len(read_records(out)) < 10:
            killed.set()

    thread = threading.Thread(target=watch)
    thread.start()
    with ray_executor(ray_cluster.address, 3) as executor:
        there = [record for record, _ in validate(out=out, executor=executor)]
    thread.join()
    assert killed.is_set()  # in the middle
    assert sorted(record.fold for record in read_records(out)) == list(range(10))
    for one, (other, _) in zip(there, validate(), strict=True):
        assert (one.key, one.predicted) == (other.key, other.predicted)


def test_a_task_whose_worker_dies_is_done_again(executor: RayExecutor, tmp_path: Path) -> None:
    found = [task for task, _ in executor.run(cases.die_once, str(tmp_path), range(4))]
    assert sorted(found) == [0, 1, 2, 3]


def test_a_sweep_makes_each_trial_once_though_a_worker_dies(
    executor: RayExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    from adasent.evaluation import sweep as module
    from adasent.evaluation.sweep import Sweep

    monkeypatch.setattr(module, "run_trial", partial(cases.trial_that_dies_once, str(tmp_path)))
    sweep = Sweep(toy_corpus("MR"), tmp_path / "sweep", system="mnb")
    list(sweep.run(6, executor=executor))
    trials = sweep.trials()["training texts"]
    assert [one.number for one in trials] == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "1").exists()  # which killed its worker
    (found,) = sweep.found()
    assert found.trial.value == max(one.value for one in trials if one.value is not None)
    assert found.record is not None


def test_one_worker_of_a_cluster_finds_what_one_process_finds(
    ray_cluster: Any, tmp_path: Path
) -> None:
    pytest.importorskip("optuna")
    from adasent.evaluation.sweep import Sweep

    here = Sweep(toy_corpus("MR"), tmp_path / "here", system="mnb")
    list(here.run(5))
    there = Sweep(toy_corpus("MR"), tmp_path / "there", system="mnb")
    with ray_executor(ray_cluster.address, 1) as executor:
        list(there.run(5, executor=executor))
    tried = [[one.settings for one in s.trials()["training texts"]] for s in (here, there)]
    assert tried[0] == tried[1]
    assert here.found()[0].trial.number == there.found()[0].trial.number


def test_the_command_joins_the_cluster(
    ray_cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "reviews.csv", tmp_path / "folds.jsonl"
    corpus = toy_corpus("MR")
    rows = (f"{text},{label}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True))
    data.write_text("text,label\n" + "".join(rows))
    words = ["crossval", str(data), "--system", "mnb", "--folds", "3", "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        app([*words, "--engine", "ray", "--address", ray_cluster.address])
    assert ended.value.code == 0
    assert capsys.readouterr().out.count("accuracy ") >= 3
    assert sorted(record.fold for record in read_records(out)) == [0, 1, 2]
