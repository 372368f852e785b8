"""What training again changes: paired by cell, with missing cells said to be missing."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.evaluation.records import FoldRecord
from adasent.experiments.cells import Place, table2_cells
from adasent.experiments.refit_table import Refits, refit_tables
from adasent.experiments.specs import SystemSpec
from experiment_cases import made_up

SYSTEMS = [SystemSpec("adasent", "AdaSent", vectors=True), SystemSpec("rnn", "RNN", vectors=True)]
HALF = np.arange(200) % 2 == 0
ALL = np.ones(200, dtype=bool)


def cells(table: str, system: str, data: str, correct: np.ndarray) -> list[FoldRecord]:
    return [made_up(system, data, correct, table=table, fold=fold) for fold in range(2)]


@pytest.fixture
def found() -> Refits:
    once = [
        *cells("table2", "adasent", "MR", HALF),
        *cells("table2", "rnn", "MR", ALL),
        *cells("table2", "rnn", "CR", ALL),
    ]
    again = [
        *cells("refit", "adasent", "MR", ALL),
        *cells("refit", "rnn", "MR", ALL),
        *cells("refit", "rnn", "CR", HALF)[:1],  # a fold is missing
        *cells("refit", "adasent", "CR", ALL),  # Table 2 has no such cell
    ]
    return Refits(table2_cells(once), table2_cells(again))


def test_only_whole_cells_are_compared(found: Refits) -> None:
    assert found.changes == {
        Place("adasent", "MR", "random"): 0.5,
        Place("rnn", "MR", "random"): 0.0,
    }
    assert found.supported(Place("adasent", "MR", "random")) == "▲"
    assert not found.supported(Place("rnn", "MR", "random"))


def test_the_table(found: Refits) -> None:
    (table,) = refit_tables(found, SYSTEMS, ["MR", "CR"])
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["AdaSent", "+50.00▲", "missing", "+50.00"],
        ["RNN", "+0.00", "missing", "+0.00"],
        ["Mean", "+25.00", "missing", "+25.00"],
    ]
    assert table.n_missing == 2
    assert "2 of 4 cells" in table.notes[-1]


def test_nothing_without_records() -> None:
    assert refit_tables(Refits({}, {}), SYSTEMS, ["MR"]) == []
