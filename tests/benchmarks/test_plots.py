"""Pictures come from the CSV alone, and equal rows give equal files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from benchmarks.gpu_results import write_csv
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


def test_pictures_of_the_gpu(tmp_path: Path) -> None:
    times = [("N=1: eager", 60.0), ("N=1: both", 2.0), ("N=1: both, as a graph", 0.8)]
    times += [("N=1: peak", 99.0)]
    rows = [
        {"what": "pyramid", "shape": "K=1 B=64", "variant": name, "median": ms, "unit": "ms"}
        for name, ms in times
    ] + [
        {"what": "training", "shape": f"K={k} B=50", "variant": "N=1: recorded steps", "median": k}
        for k in (50, 1)
    ]
    spread = [row | {"p20": row["median"], "p80": row["median"], "device": "H"} for row in rows]
    write_csv(tmp_path / "gpu.csv", spread)
    assert [path.name for path in draw(tmp_path)] == ["gpu_pyramid.svg", "gpu_training.svg"]
    picture = (tmp_path / "gpu_pyramid.svg").read_text()
    assert "60 ms" in picture
    assert "99 ms" not in picture
    assert "recorded steps" in (tmp_path / "gpu_training.svg").read_text()
