"""A cross-validation that is killed loses the fold it was at, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adasent.evaluation.crossval import cross_validate
from adasent.evaluation.records import FoldRecord, read_records
from experiment_cases import toy_corpus

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")

# Runs the folds of a toy corpus, and kills itself at one moment of one of them.
CHILD = """
import os, signal, sys
from adasent.evaluation import jobs, records, runner
from adasent.evaluation.crossval import cross_validate
from experiment_cases import toy_corpus

out, moment, fold = sys.argv[1], sys.argv[2], int(sys.argv[3])
count = {"train": 0, "write": 0}

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def train(group, size, train=runner.train_group):
    at_it = count["train"] == fold
    count["train"] += 1
    if moment == "before training" and at_it:
        die()
    found = train(group, size)
    if moment == "before writing" and at_it:
        die()
    return found

def fsync(number, fsync=os.fsync):
    at_it = count["write"] == fold
    count["write"] += 1
    if moment == "torn line" and at_it:
        os.ftruncate(number, os.fstat(number).st_size - 40)
        die()
    if moment == "before it is on disk" and at_it:
        die()
    fsync(number)
    if moment == "after writing" and at_it:
        die()

runner.train_group = train
records.os.fsync = fsync
list(cross_validate(toy_corpus("MR"), {}, system="mnb", n_folds=4, out=out))
"""


def but_for_times(records: list[FoldRecord]) -> list[FoldRecord]:
    return [replace(record, seconds=0.0) for record in records]


@pytest.mark.parametrize(
    ("moment", "n_more"),
    [
        ("before training", 0),
        ("before writing", 0),
        ("torn line", 0),
        ("before it is on disk", 1),  # a kill leaves it to the system, which writes it
        ("after writing", 1),
    ],
)
def test_the_rest_goes_on_after_a_kill(moment: str, n_more: int, tmp_path: Path) -> None:
    fold, out = 2, tmp_path / "folds.jsonl"
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(out), moment, str(fold)],
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    assert [record.fold for record in read_records(out)] == list(range(fold + n_more))

    corpus = toy_corpus("MR")
    runs = list(cross_validate(corpus, {}, system="mnb", n_folds=4, out=out))
    assert sum(not is_new for _, is_new in runs) == fold + n_more
    undisturbed = [r for r, _ in cross_validate(corpus, {}, system="mnb", n_folds=4)]
    assert but_for_times(read_records(out)) == but_for_times(undisturbed)
    assert [found.name for found in tmp_path.iterdir()] == ["folds.jsonl"]  # nothing else is left
