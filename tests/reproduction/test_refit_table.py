"""What training again changes: paired text by text, with missing cells said to be missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up
from reproduction.cells import Place
from reproduction.refit_table import Refits, refit_tables
from reproduction.specs import SystemSpec

SYSTEMS = [SystemSpec("adasent", "AdaSent", vectors=True), SystemSpec("rnn", "RNN", vectors=True)]
HALF = np.arange(200) % 2 == 0
ALL = np.ones(200, dtype=bool)


def cell(system: str, data: str, once: np.ndarray, again: np.ndarray) -> list[FoldRecord]:
    return [
        replace(
            made_up(system, data, again, table="refit", fold=fold),
            before=made_up(system, data, once, table="refit", fold=fold).predicted,
        )
        for fold in range(2)
    ]


@pytest.fixture
def found() -> Refits:
    unknown = [replace(record, before=[]) for record in cell("adasent", "CR", HALF, ALL)]
    return Refits(
        [
            *cell("adasent", "MR", HALF, ALL),
            *cell("rnn", "MR", ALL, ALL),
            *cell("rnn", "CR", ALL, HALF)[:1],  # a fold is missing
            *unknown,
        ]
    )


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


def test_the_words_that_they_knew_are_named() -> None:
    records = [
        replace(record, spec=record.spec | {"defaults": {"extra_words": 30_000}})
        for record in cell("rnn", "MR", ALL, ALL)
    ]
    (table,) = refit_tables(Refits(records), SYSTEMS, ["MR"])
    assert "the 30,000 most frequent words" in table.notes[1]


def test_nothing_without_records() -> None:
    assert refit_tables(Refits([]), SYSTEMS, ["MR"]) == []
