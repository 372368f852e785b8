"""Divisions of the folds: each has its mean, and every text counts with all its answers."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up
from reproduction.cells import table2_cells
from reproduction.partitions_table import Partitions, partition_tables
from reproduction.specs import SystemSpec

ROWS = [SystemSpec("brnn", "BRNN"), SystemSpec("adasent", "AdaSent")]


def division(system: str, fold_seed: int, *counts: int, table: str) -> list[FoldRecord]:
    return [
        made_up(
            system, "MR", np.arange(100) < n, fold=i, n_folds=2, table=table, fold_seed=fold_seed
        )
        for i, n in enumerate(counts)
    ]


def everything(n_last: int = 2) -> Partitions:
    first = [
        *division("adasent", 0, 90, 92, table="table2"),
        *division("brnn", 0, 80, 82, table="table2"),
    ]
    again = [
        *division("adasent", 1, 94, 94, table="partitions"),
        *division("brnn", 1, 70, 72, table="partitions")[:n_last],
    ]
    return Partitions(table2_cells(first), again)


def test_means_of_each_division_and_of_all() -> None:
    found = everything()
    assert found.means("adasent", "MR") == pytest.approx([91.0, 94.0])
    (table,) = partition_tables(found, ROWS, ["MR"])
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["BRNN", "1", "81.00"],
        ["BRNN", "2", "71.00"],
        ["BRNN", "all", "76.00"],
        ["AdaSent", "1", "91.00"],
        ["AdaSent", "2", "94.00"],
        ["AdaSent", "all", "92.50"],
        ["AdaSent − BRNN", "all", "+16.50▼"],
        ["", "95 %", table.rows[-1][2].text],
    ]
    assert table.n_missing == 0
    test = found.test("brnn", "MR")
    assert test is not None
    assert test.bootstrap.low < 0.165 < test.bootstrap.high
    assert (test.mcnemar.n_first, test.mcnemar.n_second) == (46, 0)  # texts, not answers


def test_a_division_that_is_not_complete_is_no_result() -> None:
    found = everything(n_last=1)
    assert found.means("brnn", "MR") is None
    assert found.test("brnn", "MR") is None
    (table,) = partition_tables(found, ROWS, ["MR"])
    assert table.n_missing == 1
    assert [row[2].text for row in table.rows][:3] == ["–", "–", "–"]


def test_nothing_to_show() -> None:
    assert partition_tables(Partitions({}, []), ROWS, ["MR"]) == []
