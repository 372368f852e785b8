"""A store holds what was put in, and lets one process at a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adasent.evaluation.records import read_records
from adasent.evaluation.store import Labelled, RecordStore
from experiment_cases import made_up

RECORD = made_up("adasent", "MR", [1, 0, 1])
OTHER = replace(RECORD, fold=1)


def by_system(run: Labelled) -> Path:
    return Path(run.spec["system"], f"{run.data}-{run.rule}.jsonl")


def test_one_file(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "folds.jsonl")
    assert store.find([RECORD]) == {}
    store.add(RECORD)
    assert store.find([RECORD, OTHER]) == {RECORD.key: RECORD}
    assert read_records(tmp_path / "folds.jsonl") == [RECORD]


def test_a_folder_of_files(tmp_path: Path) -> None:
    store = RecordStore(tmp_path, by_system)
    grouped = replace(RECORD, rule="grouped")
    for record in (RECORD, grouped):
        store.add(record)
    assert store.find([RECORD, grouped, OTHER]) == {RECORD.key: RECORD, grouped.key: grouped}
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.jsonl"))
    assert files == ["adasent/MR-grouped.jsonl", "adasent/MR-random.jsonl"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_run_has_one_claimant(tmp_path: Path, is_folder: bool) -> None:
    root, file_of = (tmp_path, by_system) if is_folder else (tmp_path / "r.jsonl", None)
    one, two = RecordStore(root, file_of), RecordStore(root, file_of)
    with one.claim(RECORD) as mine:
        assert mine
        with two.claim(RECORD) as theirs, two.claim(OTHER) as other:
            assert (theirs, other) == (False, True)
    with two.claim(RECORD) as again:
        assert again


def test_claims_of_different_files_do_not_meet(tmp_path: Path) -> None:
    one, two = RecordStore(tmp_path / "a.jsonl"), RecordStore(tmp_path / "b.jsonl")
    with one.claim(RECORD) as mine, two.claim(RECORD) as theirs:
        assert (mine, theirs) == (True, True)


def test_claims_leave_nothing_beside_the_records(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "folds.jsonl")
    with store.claim(RECORD) as mine:
        assert mine
        store.add(RECORD)
        assert [path.name for path in tmp_path.iterdir()] == ["folds.jsonl"]
    folder = RecordStore(tmp_path / "results", by_system)
    with folder.claim(RECORD):
        folder.add(RECORD)
    assert [path.name for path in (tmp_path / "results" / ".locks").iterdir()] == [".gitignore"]
