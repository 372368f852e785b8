"""Records survive a kill at any byte."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from adasent.errors import DataError
from adasent.evaluation.records import FoldRecord, append_record, read_records

RECORD = FoldRecord(
    spec={"epochs": 2},
    seed=0,
    rule="random",
    n_folds=2,
    fold=0,
    data="toy",
    sha256="00",
    versions={"adasent": "0"},
    device="cpu",
    seconds=1.5,
    best_epoch=1,
    history=[{"epoch": 0}],
    n_train=2,
    n_valid=1,
    n_test=1,
    accuracy=1.0,
    classes=["né", "ja"],
    test=[3],
    true=[0],
    predicted=[0],
)


def test_round_trip_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "records.jsonl"
    assert read_records(path) == []
    second = replace(RECORD, fold=1)
    trained_again = replace(RECORD, fold=2, before=[1])
    many = replace(trained_again, fold=3, classes=list(range(11)), n_threads=2, n_together=5)
    for record in (RECORD, second, trained_again, many):
        append_record(path, record)
    assert read_records(path) == [RECORD, second, trained_again, many]
    first = path.read_text().splitlines()[0]
    assert not any(name in first for name in ("before", "n_threads", "n_together"))


def test_a_torn_end_is_ignored_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    append_record(path, RECORD)
    line = path.read_bytes()
    for n_kept in (0, 1, len(line) // 2, len(line) - 1):
        path.write_bytes(line + line[:n_kept])
        assert read_records(path) == [RECORD]
        append_record(path, replace(RECORD, seed=1))
        assert read_records(path) == [RECORD, replace(RECORD, seed=1)]


def test_a_torn_end_longer_than_a_block(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    for whole in ([], [replace(RECORD, seed=7)]):
        path.write_bytes(b"")
        for record in whole:
            append_record(path, record)
        with path.open("ab") as file:
            file.write(b"x" * 200_000)
        append_record(path, RECORD)
        assert read_records(path) == [*whole, RECORD]


@pytest.mark.parametrize("line", ["{}", "[1]", "not json", '{"seed": 1}'])
def test_a_whole_line_that_is_no_record_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "records.jsonl"
    append_record(path, RECORD)
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match="line 2"):
        read_records(path)


def test_key_ignores_results_and_sees_settings() -> None:
    assert replace(RECORD, seconds=9.0, accuracy=0.0, predicted=[1]).key == RECORD.key
    for change in ({"seed": 1}, {"fold": 1}, {"sha256": "11"}, {"spec": {"epochs": 3}}):
        assert replace(RECORD, **change).key != RECORD.key  # type: ignore[arg-type]


def test_predictions_are_small_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    many = replace(
        RECORD,
        test=list(range(1, 10_001, 10)),
        true=[0, 1] * 500,
        predicted=[1, 0] * 500,
        tried=[{"accuracy": 0.5}],
        chosen=0,
    )
    append_record(path, many)
    assert read_records(path) == [many]
    assert len(path.read_bytes()) < 5000


def test_what_cannot_be_packed_is_kept_as_lists(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    unsorted = replace(RECORD, test=[3, 1], true=[0, 10], predicted=[10, 0])
    unsorted = replace(unsorted, classes=list(range(11)))
    append_record(path, unsorted)
    assert read_records(path) == [unsorted]


def test_records_of_the_first_version_are_read(tmp_path: Path) -> None:
    values = asdict(RECORD)
    del values["tried"], values["chosen"]
    (tmp_path / "old.jsonl").write_text(json.dumps(values) + "\n")
    assert read_records(tmp_path / "old.jsonl") == [RECORD]


@pytest.mark.parametrize(
    "change",
    [
        {"predicted": "00"},
        {"predicted": "x"},
        {"before": "00"},
        {"test": "!"},
        {"extra": 1},
        {"test": 3},
    ],
)
def test_a_damaged_record_is_an_error(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "bad.jsonl").write_text(json.dumps(asdict(RECORD) | change) + "\n")
    with pytest.raises(DataError, match="line 1"):
        read_records(tmp_path / "bad.jsonl")


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Each appends while the others do: no line is lost, torn or mixed."""
    path = tmp_path / "records.jsonl"
    script = (
        "import sys; sys.path.insert(0, sys.argv[3]);"
        "from test_records import RECORD; from dataclasses import replace;"
        "from adasent.evaluation.records import append_record\n"
        "for i in range(20): append_record(sys.argv[1], replace(RECORD, seed=int(sys.argv[2]),"
        " fold=i, history=[{'epoch': k} for k in range(500)]))"
    )
    here = str(Path(__file__).parent)
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(path), str(seed), here])
        for seed in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    found = sorted((record.seed, record.fold) for record in read_records(path))
    assert found == [(seed, i) for seed in range(3) for i in range(20)]


def test_the_same_work_is_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    assert append_record(path, RECORD) == RECORD
    slower = replace(RECORD, seconds=9.0)
    assert append_record(path, slower) == RECORD  # what is there stays
    assert read_records(path) == [RECORD]


def test_nothing_but_the_records_is_left_beside_them(tmp_path: Path) -> None:
    append_record(tmp_path / "records.jsonl", RECORD)
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


@pytest.mark.parametrize(
    ("device", "machine"),
    [
        ("cpu", "cpu"),
        ("cpu, 1 threads", "cpu"),
        ("NVIDIA H200, 60 models together", "NVIDIA H200"),
        ("cuda (NVIDIA H200), 10 models together", "NVIDIA H200"),
        ("NVIDIA H200", "NVIDIA H200"),
    ],
)
def test_the_machine_of_older_records(device: str, machine: str) -> None:
    assert replace(RECORD, device=device).machine == machine
