"""Cells whose runs come from different devices or versions are marked, in every form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up
from reproduction.ablation_table import Ablations, ablation_tables
from reproduction.cells import variance
from reproduction.origins import MIXED, differences, origin_notes
from reproduction.render import FORMS, Table, render
from reproduction.results import Results
from reproduction.specs import SystemSpec
from reproduction.table2 import short_table2, table2
from reproduction.table3 import table3

SYSTEMS = [SystemSpec(name, name, space={"rate": [1]}) for name in ("cbow", "adasent")]
HERE = {"numpy": "2.0", "python": "3.11", "platform": "Linux-1"}


def cell(system: str, *origins: dict[str, Any], **more: Any) -> list[FoldRecord]:
    """A record a fold, of the given device and versions."""
    return [
        replace(
            made_up(system, "MR", [1, 1, 0], fold=i, n_folds=len(origins), **more),
            device=origin.get("device", "cpu"),
            versions=HERE | {k: v for k, v in origin.items() if k != "device"},
        )
        for i, origin in enumerate(origins)
    ]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({}, ()),
        ({"platform": "Linux-2"}, ()),
        ({"torch": "2.1"}, ()),  # the other does not name it
        ({"device": "cpu, 2 threads"}, ()),
        ({"device": "NVIDIA H200, 6 models together"}, ("device NVIDIA H200 and cpu",)),
        ({"numpy": "2.1"}, ("numpy 2.0 and 2.1",)),
    ],
)
def test_what_differs(second: dict[str, str], expected: tuple[str, ...]) -> None:
    assert differences(cell("cbow", {}, second)) == expected


def test_one_library_under_two_names() -> None:
    older, newer = cell("cbow", {"sklearn": "1.6"}, {"scikit-learn": "1.7"})
    assert differences([older, newer]) == ("scikit-learn 1.6 and 1.7",)


def test_the_footnote_names_rows_and_columns_once() -> None:
    found = ("numpy 1 and 2",)
    cells = {("a", "MR"): found, ("a", "CR"): found, ("b", "MR"): found, ("b", "CR"): found}
    (note,) = origin_notes(cells | {("c", "MR"): (), ("d", "CR"): ("device x and y",)})
    assert note.endswith("a, b on MR, CR (numpy 1 and 2); d on CR (device x and y).")
    assert origin_notes({("c", "MR"): ()}) == []


def marked(table: Table) -> list[str]:
    return [found.text for row in table.rows for found in row if MIXED in found.text]


def assert_said(table: Table, *texts: str) -> None:
    assert marked(table) == list(texts)
    assert sum(note.startswith(MIXED) for note in table.notes) == 1
    for form in FORMS:
        assert (r"$\dagger$" if form == "latex" else MIXED) in render(table, form)


def test_table2() -> None:
    records = cell("cbow", {}, {"numpy": "2.1"}) + cell("adasent", {}, {})
    results = Results(records, SYSTEMS, ["MR"])
    main, tests = table2(results, [])
    assert_said(main, "66.7 ± 0.0†")
    assert_said(tests, "66.67†")
    assert_said(short_table2(results, {}), "66.7†")
    assert "cbow on MR (numpy 2.0 and 2.1)" in main.notes[-1]
    plain = table2(Results(cell("cbow", {}, {}), SYSTEMS, ["MR"]), [])
    assert not any(MIXED in render(table, "text") for table in plain)


def test_table3() -> None:
    both = cell("cbow", {}, {"device": "NVIDIA H200"}, table="table3")
    records = [replace(record, seed=i, fold=0) for i, record in enumerate(both)]
    (table,) = table3(variance(records, 2), SYSTEMS, ["MR"])
    assert_said(table, "66.67 ± 0.00†")


def test_a_difference_between_devices_is_marked() -> None:
    """Neither the variant nor the default is mixed; what is shown is their difference."""
    gpu = {"device": "NVIDIA H200"}
    records = cell("default", {}, {}, table="ablations")
    records += cell("words-only", gpu, gpu, table="ablations")
    overview, details = ablation_tables(Ablations(records), ["MR"])
    assert_said(overview, "+0.00†")
    assert_said(details, "+0.00†")
    assert "words-only on MR" in overview.notes[-1]
    mixed = cell("default", {}, gpu, table="ablations")
    overview, details = ablation_tables(Ablations(mixed), ["MR"])
    assert_said(overview, "66.67†")
    assert_said(details, "66.67†")
