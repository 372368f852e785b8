"""Pictures come from the CSV alone, and equal rows give equal files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from benchmarks.plots import PLOTS, draw
from benchmarks.records import Row, write_rows


def test_a_picture_for_each_benchmark_in_the_file(tmp_path: Path, made_up: list[Row]) -> None:
    write_rows(tmp_path / "cpu.csv", made_up)
    drawn = draw(tmp_path)
    assert [path.stem for path in drawn] == list(PLOTS)
    first = {path.name: path.read_bytes() for path in drawn}
    assert b"exponent 1.02" in first["length.svg"]
    assert b"fastText" in first["peers.svg"]
    assert {path.name: path.read_bytes() for path in draw(tmp_path)} == first


def test_what_was_not_measured_is_not_drawn(tmp_path: Path, made_up: list[Row]) -> None:
    write_rows(tmp_path / "cpu.csv", [row for row in made_up if row.name == "hidden"])
    assert [path.name for path in draw(tmp_path)] == ["hidden.svg"]
