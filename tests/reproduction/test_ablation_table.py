"""Ablations are compared run by run with the default, and holes are said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up
from reproduction.ablation_table import Ablations, ablation_tables, over_folds, supported
from reproduction.cells import Place
from reproduction.render import FORMS, render


def runs(variant: str, data: str, *counts: int, rule: str = "random") -> list[FoldRecord]:
    """A record a fold, each with so many of 100 right, a point more on the dev part."""
    return [
        replace(
            made_up(
                variant,
                data,
                np.arange(100) < n,
                table="ablations",
                rule=rule,
                fold=i,
                n_folds=len(counts),
            ),
            tried=[{"accuracy": (n + 1) / 100}],
        )
        for i, n in enumerate(counts)
    ]


RECORDS = [
    *runs("words only", "MR", 70, 75, 72),
    *runs("default", "MR", 80, 84, 82),
    *runs("default", "CR", 60, 62),
    *runs("words only", "CR", 61, 61),
    *runs("deep", "CR", 61, 63, rule="grouped"),
]


def test_differences_are_paired() -> None:
    overview, details = ablation_tables(Ablations(RECORDS), ["MR", "CR"])
    assert overview.columns == ("Variant", "MR", "CR", "CR, grouped")
    cells = [[cell.text for cell in row] for row in overview.rows]
    assert cells == [
        ["default", "82.00", "61.00", "–"],
        ["deep", "–", "–", "62.00"],
        ["words only", "−9.67▼", "+0.00", "–"],
    ]
    row = [cell.text for cell in details.rows[1]]
    assert row[:5] == ["MR", "words only", "3", "73.33", "72.33"]
    assert row[6:] == ["−9.67", "−11.10 to −8.23"]
    assert details.rows[1][6].bold
    assert [cell.text for cell in details.rows[-1]][5:] == ["49.29 to 74.71", "–", "–"]


def test_a_single_run_supports_nothing() -> None:
    found = Ablations([*runs("default", "TREC", 80), *runs("other", "TREC", 90)])
    change = found.difference(Place("other", "TREC", "random"))
    assert change is not None
    assert change.mean == pytest.approx(0.1)
    assert not supported(change)


def test_runs_without_a_partner_are_left_out() -> None:
    found = Ablations([*runs("default", "MR", 80, 80, 80)[:2], *runs("other", "MR", 90, 90, 10)])
    change = found.difference(Place("other", "MR", "random"))
    assert change is not None
    assert (change.n, change.mean) == (2, pytest.approx(0.1))


def test_seeds_of_a_fold_are_not_further_evidence() -> None:
    values = {(fold, seed): 0.1 * fold for fold in range(3) for seed in range(10)}
    found = over_folds(values)
    assert found is not None
    assert (found.n, found.mean) == (3, pytest.approx(0.1))
    official = over_folds({(0, seed): 0.1 * seed for seed in range(4)})
    assert official is not None
    assert official.n == 4
    assert over_folds({}) is None


def test_the_last_way_counts() -> None:
    old = [replace(record, spec=record.spec | {"way": 1}) for record in runs("default", "MR", 1, 2)]
    found = Ablations([*old, *runs("default", "MR", 80, 90)])
    assert list(found.cells[Place("default", "MR", "random")].test.values()) == [0.8, 0.9]


def test_other_systems_have_a_table_of_their_own() -> None:
    def of_cnn(name: str, *counts: int, vectors: str) -> list[FoldRecord]:
        more = {"of": "cnn", "vectors": [{"name": vectors}]}
        return [replace(r, spec=r.spec | more) for r in runs(name, "MR", *counts)]

    default = [
        replace(r, spec=r.spec | {"vectors": [{"name": "wiki"}]})
        for r in runs("default", "MR", 80, 84, 82)
    ]
    records = [
        *default,
        *of_cnn("small", 70, 75, 72, vectors="wiki"),
        *of_cnn("glove", 71, 76, 73, vectors="glove"),
    ]
    found = Ablations(records)
    overview, _, others = ablation_tables(
        found, ["MR"], {"small": {"word": 5, "network": {"2": 1000, "6": 1200}}}
    )
    assert [row[0].text for row in overview.rows] == ["default"]
    glove, small = ([cell.text for cell in row] for row in others.rows)
    assert glove[:3] == ["glove", "–", "MR"]
    assert glove[-2:] == ["–", "–"]  # it read other vectors
    assert small[:3] == ["small", "1,200", "MR"]
    assert small[-2:] == ["−9.67", "−11.10 to −8.23"]


def test_nothing_to_show() -> None:
    assert ablation_tables(Ablations([]), ["MR"]) == []
    assert ablation_tables(Ablations(RECORDS), ["SUBJ"]) == []


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str) -> None:
    for table in ablation_tables(Ablations(RECORDS), ["MR", "CR"]):
        assert "words only" in render(table, form)
