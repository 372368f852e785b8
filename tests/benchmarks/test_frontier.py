"""The frontier is what no other system beats in both; what is not known is a dash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import frontier, frontier_rows
from benchmarks.frontier_rows import (
    FrontierRow,
    draw,
    on_frontier,
    read_rows,
    table,
    write_rows,
)
from benchmarks.pages import put_between_marks
from benchmarks.registry import QUICK
from benchmarks.systems import nbsvm_system
from benchmarks.workloads import Split

ROWS = [
    FrontierRow("fastText", "CR", 79.0, 10, "measured", 50_000.0, 4e4, 6e4, 4.3, 1.0, "one core"),
    FrontierRow("slow", "CR", 78.0, 1, "measured", 10.0, 9.0, 11.0, 90.0),
    FrontierRow("adasent", "CR", 86.0, 10, "records", 600.0, 500.0, 700.0, 65.0, 2.0, "H200"),
    FrontierRow("adasent-taught", "CR", sentences=650.0, mb=8.6),
]


def test_the_frontier() -> None:
    assert [row.system for row in on_frontier(ROWS)] == ["fastText", "adasent"]
    assert on_frontier([]) == []


def test_a_table_with_dashes() -> None:
    lines = {line.split(" | ")[0].strip("| "): line for line in table(ROWS).splitlines()}
    assert "**79.0**" in lines["fastText"]
    assert "| 78.0 (1) |" in lines["slow"]
    assert lines["AdaSent taught"].count("–") == lines["RAE"].count("–") == 8  # not on MR
    of_mr = [replace(row, data="MR") for row in ROWS]
    lines = {line.split(" | ")[0].strip("| "): line for line in table(of_mr).splitlines()}
    assert lines["AdaSent taught"].endswith("| – | – | – | – | – | 650 | 8.6 | – |")
    assert lines["AdaSent (default)"].endswith("| 600 | 65 | 2 (H200) |")
    order = [name for name in lines if name in ("fastText", "slow", "AdaSent taught")]
    assert order == ["fastText", "AdaSent taught", "slow"]


def test_rows_come_back_and_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier_rows, "CSV", tmp_path / "frontier.csv")
    assert read_rows() == []
    write_rows(ROWS)
    write_rows([FrontierRow("slow", "CR", 80.0, 1)])
    found = {row.system: row for row in read_rows()}
    assert found.keys() == {row.system for row in ROWS}
    assert found["slow"] == FrontierRow("slow", "CR", 80.0, 1)
    assert found["adasent"] == ROWS[2]


def test_the_picture_of_a_part(tmp_path: Path) -> None:
    draw(ROWS, tmp_path / "one.svg")
    draw(ROWS, tmp_path / "two.svg")
    text = (tmp_path / "one.svg").read_text("utf-8")
    assert text == (tmp_path / "two.svg").read_text("utf-8")
    assert text.count("not measured yet") == 4
    assert "AdaSent (default)" in text


def test_the_page_has_what_the_rows_give() -> None:
    page = frontier.PAGE.read_text("utf-8")
    rows = read_rows()
    assert put_between_marks(page, "frontier", "frontier.py", table(rows)) == page


def test_nbsvm_takes_more_than_two_classes() -> None:
    texts = [f"{word} thing {i}" for i in range(8) for word in ("red", "green", "blue")]
    labels = ["r", "g", "b"] * 8
    system = nbsvm_system(QUICK, Split(texts, labels, texts, labels))
    assert np.mean(np.array(system.predict(texts)) == np.array(labels)) == 1
