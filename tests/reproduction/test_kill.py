"""A run that is killed loses the unit it was at, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up, toy_corpus
from reproduction.run import run_missing
from reproduction.specs import Experiments, Protocol, SystemSpec, Unit
from reproduction.store import Store
from reproduction.tasks import Tasks

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")

UNITS = [Unit("table2", "adasent", "MR", "random", fold, 5, 0) for fold in range(5)]

# Adds records of its own until the third unit, at which it stays; a torn line is all of that one.
CHILD = """
import sys, time
from reproduction.store import Store
from test_kill import UNITS, record
store = Store(sys.argv[1])
for unit in UNITS:
    with store.claim(unit, record(unit).key) as mine:
        if unit.fold == 2:
            with store.path(unit).open("ab") as file:
                file.write(b'{"spec": {"table": "tab')
            print("at it", flush=True)
            time.sleep(600)
        store.add(unit, record(unit))
"""


def record(unit: Unit) -> FoldRecord:
    return made_up("adasent", "MR", [1, 0, 1], fold=unit.fold, n_folds=5)


class MadeUpTasks(Tasks):
    """Tasks whose keys are those of made-up records."""

    def task(self, unit: Unit):  # type: ignore[no-untyped-def]
        return type("Task", (), {"unit": unit, "key": record(unit).key})


def test_the_rest_goes_on_after_a_kill(tmp_path: Path) -> None:
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "at it\n"
        store = Store(tmp_path)
        with store.claim(UNITS[2], record(UNITS[2]).key) as mine:
            assert not mine  # the child is at it
        child.send_signal(signal.SIGKILL)
    assert [r.fold for r in store.records("table2")] == [0, 1]

    system = SystemSpec("adasent", "AdaSent")
    plan = Experiments(Protocol(n_settings=1), {"adasent": system})
    tasks = MadeUpTasks(plan, read=toy_corpus)
    done = list(run_missing(UNITS, tasks, store, lambda task: record(task.unit)))
    assert [one is None for _, one in done] == [True, True, False, False, False]
    assert [r.fold for r in store.records("table2")] == [0, 1, 2, 3, 4]
