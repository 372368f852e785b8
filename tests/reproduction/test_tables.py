"""Tables of made-up records: every figure comes from them, every hole is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adasent.data import Corpus
from adasent.data.audit import audit
from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up
from reproduction.cells import Place, compare_with_ours, table2_cells, variance
from reproduction.render import FORMS, Table, render
from reproduction.results import Results
from reproduction.specs import SystemSpec
from reproduction.table1 import table1
from reproduction.table2 import short_table2, table2
from reproduction.table3 import table3

SYSTEMS = [
    SystemSpec("mnb", "MNB"),
    SystemSpec("cbow", "cBoW", space={"rate": [1]}),
    SystemSpec("adasent", "AdaSent", space={"rate": [1]}),
]


def right(n: int, of: int = 100) -> np.ndarray:
    return np.arange(of) < n


def folds(system: str, data: str, *counts: int, **more: Any) -> list[FoldRecord]:
    """A record a fold, each with so many of 100 right."""
    return [
        made_up(system, data, right(n), fold=i, n_folds=len(counts), **more)
        for i, n in enumerate(counts)
    ]


def texts(table: Table, row: int) -> list[str]:
    return [cell.text for cell in table.rows[row]]


def test_accuracy_beside_the_papers() -> None:
    records = [
        *folds("adasent", "MR", 80, 90),
        *folds("cbow", "MR", 40, 50),
        *folds("mnb", "MR", 80, 90),
        *folds("adasent", "TREC", 92),
    ]
    main, rules, tests = table2(Results(records, SYSTEMS, ["MR", "TREC"]), ["TREC"])
    assert main.columns == ("Model", "MR paper", "MR ours", "TREC paper", "TREC ours")
    assert texts(main, 0) == ["MNB", "79.0", "85.0 ± 7.1", "–", "missing"]
    assert texts(main, 1) == ["cBoW", "77.2", "45.0 ± 7.1▼", "87.3", "missing"]
    assert texts(main, 2) == ["AdaSent", "83.1", "85.0 ± 7.1", "92.4", "92.0"]
    assert main.n_missing == 2
    assert "2 of 6 cells have no or not all records." in main.notes
    assert [row[2].bold for row in main.rows] == [True, False, True]
    assert rules.columns == ("Model", "TREC random", "TREC grouped", "TREC Δ")
    assert rules.n_missing == 3
    assert [row[0].text for row in tests.rows] == ["MR, random"] * 3 + ["TREC, random"]
    cbow = texts(tests, 1)
    assert cbow[1:6] == ["cBoW", "45.00", "7.07", "−18.53 to 108.53", "2 of 2"]
    assert cbow[6] == "+40.00"
    assert cbow[8:] == ["80 : 0", "< 0.0001"]
    assert tests.rows[1][9].bold
    assert texts(tests, 3)[2:6] == ["92.00", "–", "85.00 to 95.89", "1 of 1"]


def test_a_system_ahead_is_marked_up_and_counted() -> None:
    records = [*folds("adasent", "MR", 50, 50), *folds("cbow", "MR", 80, 80)]
    main, _ = table2(Results(records, SYSTEMS, ["MR"]), [])
    assert texts(main, 1)[2] == "80.0 ± 0.0▲"
    assert main.notes[-1].endswith("(in brackets: on which both tests support it): cBoW 0 (0).")


def test_both_fold_rules() -> None:
    records = [
        *folds("cbow", "CR", 90, 90),
        *folds("cbow", "CR", 80, 84, rule="grouped"),
        *folds("adasent", "CR", 70, rule="grouped"),
    ]
    _, rules, tests = table2(Results(records, SYSTEMS, ["CR"]), ["CR"])
    assert texts(rules, 1) == ["cBoW", "90.0 ± 0.0", "82.0 ± 2.8", "−8.00"]
    assert texts(rules, 2) == ["AdaSent", "missing", "70.0", "–"]
    assert [row[0].text for row in tests.rows] == ["CR, random", "CR, grouped", "CR, grouped"]


def test_an_unfinished_cell_is_no_result() -> None:
    records = [*folds("adasent", "MR", 80, 90, 70), *folds("cbow", "MR", 30, 30, 30)[:2]]
    main, tests = table2(Results(records, SYSTEMS, ["MR"]), [])
    assert texts(main, 1)[2] == "30.0 ± 0.0 (2/3)"
    assert main.n_missing == 2
    assert texts(tests, 0)[5:] == ["2 of 3", "–", "–", "–", "–"]


def test_the_latest_way_counts_and_is_not_mixed() -> None:
    old, new = folds("cbow", "MR", 10, 20, way=1), folds("cbow", "MR", 60, 70, way=2)
    place = Place("cbow", "MR", "random")
    assert table2_cells([*old, *new])[place].summary().mean == pytest.approx(0.65)
    half = table2_cells([*old, new[0]])[place]
    assert [record.accuracy for record in half.records] == [0.6]
    assert not half.complete
    assert table2_cells([*new, new[0]])[place].complete  # the same work twice


def test_only_the_same_texts_are_compared() -> None:
    records = [*folds("adasent", "MR", 80), made_up("cbow", "MR", right(8, 10), n_folds=1)]
    assert compare_with_ours(table2_cells(records), Place("cbow", "MR", "random")) is None


def test_table3() -> None:
    def runs(system: str, *counts: int) -> list[FoldRecord]:
        return [
            made_up(system, "CR", right(n), table="table3", seed=i) for i, n in enumerate(counts)
        ]

    rows = [system for system in SYSTEMS if system.table3]
    records = [*runs("cbow", 70, 80, 90), *runs("adasent", 80, 81, 85)]
    (table,) = table3(variance(records, 3), rows, ["CR"])
    assert texts(table, 0) == ["cBoW", "71.86 ± 2.00", "80.00 ± 10.00"]
    assert texts(table, 1) == ["AdaSent", "83.61 ± 1.60", "82.00 ± 2.65"]
    assert [row[2].bold for row in table.rows] == [False, True]
    assert "is higher on: cBoW 1 of 1 sets" in table.notes[-1]
    assert table.notes[1].endswith("cBoW and AdaSent: fold 1.")
    (table,) = table3(variance(runs("adasent", 80, 81), 3), rows, ["CR"])
    assert (texts(table, 0)[2], texts(table, 1)[2]) == ("missing", "2 of 3 runs")
    assert table.n_missing == 2


def test_table1() -> None:
    words = ["good film", "bad film", "good film", "dull", "fine"]
    corpus = Corpus("CR", words * 2, ["a", "b", "a", "b", "a"] * 2, "00")
    audits = {"CR": audit(corpus, n_folds=2)}
    statistics, traps = table1(audits, ["CR", "TREC"])
    assert texts(statistics, 0) == ["CR", "paper", "3788", "(0.64, 0.36)", "2", "17", "CV"]
    assert texts(statistics, 1) == ["", "ours", "10", "(0.6, 0.4)", "2", "1.6", "CV"]
    assert texts(statistics, 3) == ["", "ours", *["missing"] * 5]
    assert texts(traps, 0)[:3] == ["CR", "4", "0"]
    assert texts(traps, 0)[4:] == ["100.0", "60.0", "0"]
    assert (statistics.n_missing, traps.rows[1][1].text) == (1, "missing")
    assert any("no public copy has that count" in note for note in statistics.notes)


@pytest.mark.parametrize("n_sets", [1, 5])
def test_no_records_at_all(n_sets: int) -> None:
    sets = ["MR", "CR", "SUBJ", "MPQA", "TREC"][:n_sets]
    main, *_ = table2(Results([], SYSTEMS, sets), ["CR"])
    assert main.n_missing == 3 * n_sets
    assert all(row[2].text == "missing" for row in main.rows)


def test_an_official_split_has_a_run_for_each_seed() -> None:
    def seeds(system: str, *counts: int) -> list[FoldRecord]:
        return [
            made_up(system, "TREC", right(n), n_folds=1, seed=i, n_seeds=len(counts))
            for i, n in enumerate(counts)
        ]

    records = [*seeds("adasent", 90, 94, 92), *seeds("cbow", 70, 72, 74), *seeds("mnb", 60)]
    results = Results(records, SYSTEMS, ["TREC"])
    main, tests = table2(results, [])
    assert [row[2].text for row in main.rows] == ["60.0▼", "72.0 ± 2.0▼", "92.0 ± 2.0"]
    # The interval is that of the texts, which seeds do not vary.
    assert texts(tests, 2)[2:6] == ["92.00", "2.00", "85.00 to 95.89", "3 of 3"]
    unfinished = Results(records[:2], SYSTEMS, ["TREC"])
    assert unfinished.mean("adasent", "TREC") is None


def test_short_table() -> None:
    records = [*folds("adasent", "MR", 80, 90), *folds("cbow", "MR", 40, 50)]
    results = Results(records, SYSTEMS, ["MR"])
    table = short_table2(results, {})
    assert [texts(table, i) for i in range(3)] == [
        ["MNB", "missing"],
        ["cBoW", "45.0▼"],
        ["AdaSent", "85.0"],
    ]
    assert table.rows[2][0].bold
    assert table.n_missing == 1
    sized = short_table2(results, {"adasent": {"word": 5, "network": {"2": 1000}}})
    assert sized.columns == ("", "MR", "parameters")
    assert [row[-1].text for row in sized.rows] == ["–", "–", "1,000"]


def test_runs_of_table3_are_not_mixed_with_those_made_otherwise() -> None:
    def run(seed: int, n: int, **spec: Any) -> FoldRecord:
        return made_up("cbow", "CR", right(n), table="table3", seed=seed, **spec)

    old = [run(seed, 10, vectors="old", settings=[seed]) for seed in range(3)]
    new = [run(seed, 80, vectors="new", settings=[seed]) for seed in range(2)]
    assert variance([*old, *new], 3).scores == {("cbow", "CR"): [0.8, 0.8]}
    assert variance([*old, *new], 3).summary("cbow", "CR") is None


def test_runs_of_table3_on_several_folds() -> None:
    def runs(system: str, on: list[int], *counts: int, **spec: Any) -> list[FoldRecord]:
        return [
            made_up(system, "CR", right(n), table="table3", seed=i, fold=fold, **spec)
            for i, (fold, n) in enumerate(zip(on, counts, strict=True))
        ]

    old = runs("cbow", [0, 0, 0], 70, 80, 90)
    ours = runs("adasent", [0, 1, 2], 80, 81, 85, folds=[0, 1, 2])
    rows = [system for system in SYSTEMS if system.table3]
    found = variance([*old, *ours], 3)
    assert found.folds == {("cbow", "CR"): (0, 0, 0), ("adasent", "CR"): (0, 1, 2)}
    assert found.lead("cbow", "CR") is None  # not on the same folds
    (table,) = table3(found, rows, ["CR"])
    assert table.notes[1].endswith("cBoW: fold 1; AdaSent: folds 1, 2 and 3.")
    assert not any(cell.bold for row in table.rows for cell in row)
    assert not any("criterion" in note for note in table.notes)
    new = runs("cbow", [0, 1, 2], 70, 71, 72, folds=[0, 1, 2])
    assert variance([*old, *new], 3).scores["cbow", "CR"] == [0.7, 0.71, 0.72]
    assert variance([*old, *new, *ours], 3).lead("cbow", "CR") == pytest.approx(0.11)


@pytest.mark.parametrize("form", FORMS)
def test_missing_cells_in_every_form(form: str) -> None:
    records = [*folds("adasent", "MR", 80, 90), *folds("cbow", "MR", 50, 60, 70)[:1]]
    main, *_ = table2(Results(records, SYSTEMS, ["MR", "CR"]), ["CR"])
    text = render(main, form)
    assert text.count("missing") == 4
    assert "50.0 (1/3)" in text
    assert "5 of 6 cells have no or not all records" in text
