"""Executors: what is asked of each of them, and of processes that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import executor_cases as cases
from adasent.errors import AdaSentError, AdaSentWarning, ConfigError, LostWorkerError
from adasent.evaluation.crossval import cross_validate
from adasent.evaluation.executors import N_TRIES, Executor, Processes, ThisProcess
from adasent.evaluation.records import FoldRecord, read_records
from experiment_cases import toy_corpus

each = pytest.mark.parametrize("executor", [ThisProcess(), Processes(2)], ids=["here", "two"])


@each
def test_every_task_once_with_its_result(executor: Executor) -> None:
    found = list(executor.run(cases.add, 10, [1, 2, 3, 4]))
    assert sorted((task, total) for task, (total, _) in found) == [
        (1, 11),
        (2, 12),
        (3, 13),
        (4, 14),
    ]
    processes = {process for _, (_, process) in found}
    assert (os.getpid() in processes) == (executor.n_workers == 1)


@each
def test_a_result_is_handed_over_before_the_next_task_is_taken(executor: Executor) -> None:
    known: list[int] = []
    known_when_asked: list[int] = []

    def tasks() -> Iterator[int]:
        for i in range(4):
            known_when_asked.append(len(known))
            yield i

    for task, _ in executor.run(cases.add, 0, tasks()):
        known.append(task)
    n = executor.n_workers
    assert known_when_asked == [max(0, i - n + 1) for i in range(4)]


@each
def test_an_error_is_raised_as_it_is(executor: Executor) -> None:
    with pytest.raises(ConfigError, match=r"^dropout must be a number from 0 to 0.95; got 2$"):
        list(executor.run(cases.refuse, None, [2]))


@each
def test_warnings_are_given_here(executor: Executor) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [task for task, _ in executor.run(cases.warn, None, [1])] == [1]
    assert [str(one.message) for one in caught] == ["2 texts were cut"]
    assert caught[0].category is AdaSentWarning


def test_an_error_that_cannot_travel_arrives_in_words() -> None:
    with pytest.raises(AdaSentError, match=r"^Strange: odd$"):
        list(Processes(1).run(cases.be_strange, None, [0]))


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_task_whose_process_dies_is_done_by_another(tmp_path: Path) -> None:
    found = [task for task, _ in Processes(2).run(cases.die_once, str(tmp_path), range(4))]
    assert sorted(found) == [0, 1, 2, 3]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_task_that_kills_every_process_comes_to_an_end() -> None:
    with pytest.raises(LostWorkerError, match=f"died {N_TRIES} times"):
        list(Processes(1).run(cases.die, None, [0]))


INTERRUPTED = """
import signal, sys, os
import executor_cases as cases
from adasent.evaluation.executors import Processes
signal.signal(signal.SIGINT, signal.default_int_handler)
if __name__ == "__main__":
    try:
        for task, _ in Processes(2).run(cases.wait_for_it, sys.argv[1], range(4)):
            pass
    except KeyboardInterrupt:
        print("kept")
"""


@pytest.mark.skipif(os.name == "nt", reason="sends signals to a group")
def test_ctrl_c_ends_the_processes_without_a_word_of_theirs(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(INTERRUPTED)
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    driver = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("begun-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGINT)
    assert driver.communicate(timeout=60) == ("kept\n", "")


@pytest.mark.parametrize("mine", [None, "3"])
def test_a_process_has_one_thread_unless_the_user_says_more(
    mine: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if mine is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", mine)
    assert list(Processes(1).run(cases.threads, None, [0])) == [(0, mine or "1")]
    assert os.environ.get("OMP_NUM_THREADS") == mine


def test_a_number_of_workers() -> None:
    with pytest.raises(ConfigError, match="workers must be a whole number of at least 1"):
        Processes(0)


def but_for_times(records: list[FoldRecord]) -> list[FoldRecord]:
    return [replace(record, seconds=0.0) for record in records]


def test_records_made_in_processes_are_those_made_here(tmp_path: Path) -> None:
    corpus, out = toy_corpus("MR"), tmp_path / "r.jsonl"
    here = [r for r, _ in cross_validate(corpus, {}, system="mnb", n_folds=4)]
    two = Processes(2)
    runs = list(cross_validate(corpus, {}, system="mnb", n_folds=4, out=out, executor=two))
    assert [is_new for _, is_new in runs] == [True] * 4
    assert but_for_times([record for record, _ in runs]) == but_for_times(here)
    assert sorted(record.fold for record in read_records(out)) == [0, 1, 2, 3]
    again = cross_validate(corpus, {}, system="mnb", n_folds=4, out=out, executor=two)
    assert [is_new for _, is_new in again] == [False] * 4
