"""The search on dev parts: what a setting had, and how many runs there were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adasent.errors import DataError
from reproduction.search_table import peak, read_search, search_note, search_tables


def line(data: str, curve: list[float], fold: int = 0, **settings: Any) -> str:
    row = {"data": data, "fold": fold, "seed": 0, "base": "old", "settings": settings}
    row |= {"valid_accuracy": curve, "n_dev": 10, "device": "cpu", "versions": {}}
    return json.dumps(row | {"data_sha256": "00"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        line("MR", [0.5, 0.6, 0.7]),
        line("MR", [0.7], fold=1),
        line("CR", [0.9, 0.9, 0.9]),
        line("MR", [0.8, 0.8, 0.8], gate_groups=10),
        line("CR", [0.9, 0.9, 0.9], gate_groups=10),
        line("MR", [0.95], gate_groups=50),
    ]
    (tmp_path / "gates.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_peak_is_of_the_smoothed_mean() -> None:
    assert peak([[0.5, 0.6, 0.7], [0.7]]) == pytest.approx(0.675)  # of 0.6, 0.65, 0.7
    assert peak([[0.1, 0.9, 0.1]]) == pytest.approx(0.5)  # not the 0.9 of one epoch
    assert peak([[0.4]]) == 0.4


def test_settings_by_set_the_best_first(folder: Path) -> None:
    trials = read_search(folder)
    (table,) = search_tables(trials, ["MR", "CR", "TREC"])
    assert table.columns == ("Setting", "runs", "MR", "CR", "mean")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["old with gate_groups 10", "2", "80.00", "90.00", "85.00"],
        ["old", "3", "67.50", "90.00", "78.75"],
        ["old with gate_groups 50", "1", "95.00", "–", "–"],
    ]
    assert [cell.bold for cell in table.rows[0]] == [False, False, False, True, True]
    assert search_note(trials).startswith("The search had 6 runs of 3 settings (cpu).")


@pytest.mark.parametrize("text", ["{}", "[]", "x", line("MR", [])])
def test_damaged_lines(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(line("MR", [0.5]) + "\n" + text + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl, line 2"):
        read_search(tmp_path)


def test_nothing_to_show(tmp_path: Path) -> None:
    assert read_search(tmp_path / "none") == []
    assert search_tables([], ["MR"]) == []
