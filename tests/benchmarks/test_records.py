"""Rows survive the CSV, carry where they come from, and replace those of the same benchmark."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.records import Result, Row, Shape, environment, read_rows, row, write_rows

ENVIRONMENT = environment(2, device="a machine")


def made(name: str, values: list[float], **settings: object) -> Row:
    return row(name, Result("pyramid", "s", values, **settings), ENVIRONMENT)  # type: ignore[arg-type]


def test_a_row_holds_median_and_spread() -> None:
    found = made("length", [5.0, 1.0, 2.0, 3.0, 4.0, 6.0])
    assert (found.p20, found.median, found.p80, found.repeats) == (2.0, 3.5, 5.0, 6)


def test_rows_survive_the_file(tmp_path: Path) -> None:
    rows = [
        made("length", [1.0], shape=Shape(4, 7, 100, "equal", 112)),
        made("mr", [0.123456789, 1e-7], against="padded, sorted"),
    ]
    write_rows(tmp_path / "deep" / "cpu.csv", rows)
    assert read_rows(tmp_path / "deep" / "cpu.csv") == rows


def test_columns_say_what_was_measured_where_and_with_what(tmp_path: Path) -> None:
    write_rows(tmp_path / "cpu.csv", [made("mr", [1.0])])
    with (tmp_path / "cpu.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert ",".join(line) == (
        "name,provider,against,unit,median,p20,p80,repeats,batch,longest,hidden,lengths,cells,"
        "dtype,threads,device,python,numpy,torch,numba,adasent,commit,date"
    )
    assert line["threads"] == "2"
    assert line["device"] == "a machine"
    assert all(line[name] for name in ("python", "numpy", "torch", "adasent", "date"))


def test_a_benchmark_measured_again_replaces_only_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    write_rows(path, [made("mr", [1.0]), made("mr", [2.0]), made("length", [3.0])])
    write_rows(path, [made("mr", [4.0])])
    assert [(found.name, found.median) for found in read_rows(path)] == [
        ("length", 3.0),
        ("mr", 4.0),
    ]
