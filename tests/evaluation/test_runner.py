"""The runner: who sees which texts, which setting wins, what is recorded, what is not run again."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adasent.estimators import neural
from adasent.evaluation import runner
from adasent.evaluation.jobs import Job, train_group
from adasent.evaluation.records import FoldRecord, read_records
from adasent.evaluation.runner import run_jobs
from adasent.evaluation.store import RecordStore
from experiment_cases import EarlyRule, Rule, toy_corpus
from experiment_cases import toy_job as job

CORPUS = toy_corpus("MR")


class Factory:
    """Makes estimators and keeps them."""

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind
        self.made: list[Any] = []

    def __call__(self, **settings: Any) -> Any:
        self.made.append(self.kind(**settings))
        return self.made[-1]


def record_of(job: Job) -> FoldRecord:
    (record,) = train_group([job])
    assert record is not None
    return record


def test_a_system_that_stops_early() -> None:
    factory = Factory(EarlyRule)
    one = job(factory)
    record = record_of(one)
    assert len(factory.made) == 2
    for made in factory.made:
        assert made.fitted_on == [one.part(one.train)[0]]
        assert made.validation == one.part(one.dev)  # type: ignore[arg-type]
        assert made.common == {"random_state": 3}
    assert record.chosen == 1  # the one that is right
    assert record.tried[1]["accuracy"] > record.tried[0]["accuracy"]
    assert (record.n_train, record.n_valid, record.n_test) == (36, 12, 12)
    assert record.history == [
        {
            "epoch": 0,
            "train_loss": 0.123457,
            "valid_loss": 0.5,
            "gradient_norm": 1.0,
            "gradient_flow": None,
        }
    ]
    assert [record.classes[i] for i in record.true] == [CORPUS.labels[i] for i in record.test]
    assert record.key == one.key
    assert record.versions.keys() >= {"adasent", "python", "platform"}
    assert (record.device, record.n_threads, record.n_together) == ("cpu", 1, 1)


def test_a_system_that_does_not_is_trained_again_on_both_parts() -> None:
    factory = Factory(Rule)
    one = job(factory)
    record = record_of(one)
    assert len(factory.made) == 3
    assert factory.made[2].rate == 2
    assert factory.made[2].fitted_on == [one.part(one.train, one.dev)[0]]  # type: ignore[arg-type]
    assert (record.n_train, record.n_valid) == (48, 0)
    assert (record.history, record.before) == ([], [])


class Rows(list[Any]):
    """A history that knows its best epoch."""

    best_epoch = 6


class Epochs(Rule):
    """Trained by epochs, and without a validation part if none is given."""

    def fit(self, X: Any, y: Any, validation: Any = None) -> Epochs:
        super().fit(X, y)
        self.validation, self.history_ = validation, Rows()
        return self


def test_a_network_is_trained_again_for_the_epochs_that_were_best() -> None:
    factory = Factory(Epochs)
    one = job(factory, refit=True)
    record = record_of(one)
    *tried, final = factory.made
    assert [made.common.get("epochs") for made in tried] == [None, None]
    assert (final.common["epochs"], final.common["validation_fraction"]) == (7, 0.0)
    assert final.rate == tried[1].rate
    assert final.validation is None
    assert final.fitted_on == [one.part(one.train, one.dev)[0]]  # type: ignore[arg-type]
    assert (record.n_train, record.n_valid, record.best_epoch) == (48, 0, 6)
    assert record.before == record.predicted  # the rule does not learn


def test_without_a_dev_part_there_is_nothing_to_choose() -> None:
    factory = Factory(Epochs)
    record = record_of(replace(job(factory, settings=[{"rate": 2}]), dev=None))
    assert len(factory.made) == 1
    assert factory.made[0].validation is None
    assert (record.tried, record.chosen) == ([], None)
    assert (record.n_train, record.n_valid) == (36, 0)


def test_of_equal_settings_the_first_wins() -> None:
    assert record_of(job(Factory(EarlyRule), settings=[{"rate": 2}] * 3)).chosen == 0


class Network(Rule):
    """Looks better in training at rate 1 and is better when it is finished at rate 2."""

    def encode(self, X: list[str], y: list[Any], validation: Any = None) -> list[str]:
        return X

    def reading_settings(self) -> dict[str, Any]:
        return {}

    def fit(self, X: Any, y: Any, validation: Any = None) -> Network:
        raise AssertionError("networks are encoded and then fitted")


def fit_encoded(estimators: list[Any], texts: list[Any]) -> None:
    for estimator, encoded in zip(estimators, texts, strict=True):
        estimator.fitted_on.append(encoded)
        row = {"epoch": 0, "valid_accuracy": 1.0 if estimator.rate == 1 else 0.5}
        estimator.history_ = History([row])
        estimator.trained_on_ = ("toy", 7)


class History(list[Any]):
    best_epoch = 0
    interrupted = False


@pytest.mark.parametrize("stack", [1, 2, 6, 100])
def test_the_setting_is_chosen_by_the_finished_model(
    stack: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training rate 1 looks better; what a user saves and uses is better at rate 2."""
    monkeypatch.setattr(neural, "fit_encoded", fit_encoded)
    factory = Factory(Network)
    jobs = [job(factory, fold) for fold in range(5)]
    found = [result.record for result in run_jobs(jobs, stack=stack)]
    assert [record.chosen for record in found] == [1] * 5
    for record in found:
        assert record.history[0]["valid_accuracy"] == 0.5
        assert record.tried[1]["accuracy"] > 0.75
        assert (record.device, record.n_threads) == ("toy", 7)
    together = {record.n_together for record in found}
    assert together == {1: {1}, 2: {2}, 6: {6, 4}, 100: {10}}[stack]


def test_texts_are_encoded_once_for_all_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Any] = []

    class Counting(Network):
        def encode(self, X: list[str], y: list[Any], validation: Any = None) -> list[str]:
            encoded.append(X)
            return X

        def reading_settings(self) -> dict[str, Any]:
            return {"min_count": self.common.get("min_count", 1)}

    monkeypatch.setattr(neural, "fit_encoded", fit_encoded)
    factory = Factory(Counting)
    list(run_jobs([job(factory, fold) for fold in range(3)], stack=6))
    assert len(encoded) == 3
    settings: list[dict[str, Any]] = [{"rate": 1}, {"rate": 2}, {"rate": 1, "min_count": 2}]
    record_of(job(factory, settings=settings))
    assert len(encoded) == 5  # one setting reads them in another way


def test_a_stack_without_room_is_run_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def with_little_room(estimators: list[Any], texts: list[Any]) -> None:
        sizes.append(len(estimators))
        if len(estimators) > 2:
            raise MemoryError
        fit_encoded(estimators, texts)

    monkeypatch.setattr(neural, "fit_encoded", with_little_room)
    jobs = [job(Factory(Network), fold) for fold in range(3)]
    found = [result.record for result in run_jobs(jobs, stack=6)]
    assert sizes == [6, 3, 1, 2, 3, 1, 2]
    assert [record.fold for record in found] == [0, 1, 2]
    assert {record.n_together for record in found} <= {1, 2}

    def without(estimators: list[Any], texts: list[Any]) -> None:
        raise MemoryError

    monkeypatch.setattr(neural, "fit_encoded", without)
    with pytest.raises(MemoryError):
        list(run_jobs(jobs, stack=6))


def test_other_errors_are_not_taken_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def broken(estimators: list[Any], texts: list[Any]) -> None:
        calls.append(len(estimators))
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(neural, "fit_encoded", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        list(run_jobs([job(Factory(Network))], stack=6))
    assert calls == [2]


@pytest.mark.parametrize(("gigabytes", "expected"), [(0, 1), (16, 16), (139, 60)])
def test_the_stack_follows_the_memory_of_the_device(
    gigabytes: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = SimpleNamespace(
        is_available=lambda: True, mem_get_info=lambda: (gigabytes * 2**30, 200 * 2**30)
    )
    monkeypatch.setattr("torch.cuda", cuda)
    assert runner.stack_size() == expected
    cuda.is_available = lambda: False
    assert runner.stack_size() == 1


def test_finished_runs_are_skipped(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "r.jsonl")
    jobs = [job(Factory(EarlyRule), fold) for fold in range(5)]
    first = run_jobs(jobs, store)
    assert [next(first).is_new for _ in range(2)] == [True, True]
    first.close()
    again = list(run_jobs(jobs, store))
    assert [result.is_new for result in again] == [False, False, True, True, True]
    assert [result.job for result in again] == jobs
    assert [record.fold for record in read_records(store.root)] == [0, 1, 2, 3, 4]
    assert [result.record for result in again] == read_records(store.root)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stack that is cut short, models that were finished before are results."""

    def cut(estimators: list[Any], texts: list[Any]) -> None:
        fit_encoded(estimators, texts)
        estimators[3].history_.interrupted = True  # the second setting of the second job

    monkeypatch.setattr(neural, "fit_encoded", cut)
    store = RecordStore(tmp_path / "r.jsonl")
    jobs = [job(Factory(Network), fold) for fold in range(3)]
    with pytest.raises(KeyboardInterrupt):
        list(run_jobs(jobs, store, stack=6))
    assert [record.fold for record in read_records(store.root)] == [0, 2]
    monkeypatch.setattr(neural, "fit_encoded", fit_encoded)
    undisturbed = [result.record for result in run_jobs(jobs, stack=6)]
    resumed = [result.record for result in run_jobs(jobs, store, stack=6)]
    for one, other in zip(resumed, undisturbed, strict=True):
        assert replace(one, n_together=6) == replace(
            other, seconds=one.seconds, tried=one.tried, n_together=6
        )
        assert [row["accuracy"] for row in one.tried] == [row["accuracy"] for row in other.tried]


def test_ctrl_c_in_the_trials_is_not_followed_by_a_second_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def cut(estimators: list[Any], texts: list[Any]) -> None:
        calls.append(len(estimators))
        fit_encoded(estimators, texts)
        estimators[-1].history_.interrupted = True

    monkeypatch.setattr(neural, "fit_encoded", cut)
    jobs = [job(Factory(Network), fold, refit=True) for fold in range(2)]
    with pytest.raises(KeyboardInterrupt):
        list(run_jobs(jobs, stack=4))
    assert calls == [4]


def test_what_another_process_is_at_comes_when_it_has_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordStore(tmp_path / "r.jsonl")
    factory = Factory(EarlyRule)
    jobs = [job(factory, fold) for fold in range(3)]
    theirs = record_of(jobs[1])
    factory.made.clear()
    claim = store.claim(jobs[1])
    claim.__enter__()
    monkeypatch.setattr(runner, "POLL_SECONDS", 0)
    found = run_jobs(jobs, RecordStore(store.root))
    assert [next(found).job.fold for _ in range(2)] == [0, 2]
    fitted = [made for made in factory.made if made.fitted_on]
    assert len(fitted) == 4  # two settings each; nothing of the second job
    store.add(theirs)
    claim.__exit__(None, None, None)
    last = next(found)
    assert (last.record, last.is_new) == (theirs, False)
    assert next(found, None) is None


SHARED = """
import sys
from pathlib import Path
from adasent.evaluation import runner
from adasent.evaluation.store import RecordStore
from experiment_cases import EarlyRule, toy_job

class Slow(EarlyRule):
    def fit(self, X, y, validation=None):
        import time
        time.sleep(0.05)
        with Path(sys.argv[2]).open("a") as file:
            file.write("fit\\n")
        return super().fit(X, y, validation)

runner.POLL_SECONDS = 0.05
jobs = [toy_job(Slow, fold) for fold in range(5)]
print(len(list(runner.run_jobs(jobs, RecordStore(sys.argv[1])))))
"""


def test_processes_share_the_work(tmp_path: Path) -> None:
    path, log = tmp_path / "r.jsonl", tmp_path / "fits"
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n{SHARED}"
    command = [sys.executable, "-c", code, str(path), str(log)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [worker.communicate(timeout=120)[0] for worker in workers] == ["5\n", "5\n"]
    assert sorted(record.fold for record in read_records(path)) == [0, 1, 2, 3, 4]
    assert log.read_text().count("fit") == 10  # two settings of five jobs, each once
