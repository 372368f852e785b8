"""Records survive a kill at any byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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
    append_record(path, RECORD)
    append_record(path, second)
    assert read_records(path) == [RECORD, second]


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
    for whole in (b"", b"\n"):
        path.write_bytes(whole + b"x" * 200_000)
        append_record(path, RECORD)
        assert path.read_bytes().startswith(whole + b'{"spec"')


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
