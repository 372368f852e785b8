"""Texts are flagged once, and figures of groups join the flags to the records by position."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import Corpus
from adasent.errors import DataError
from adasent.evaluation.records import read_records
from adasent.evaluation.significance import wilson
from experiment_cases import made_up
from reproduction.catalog import Catalog
from reproduction.jobs import Jobs
from reproduction.phenomena import find_phenomena, read_phenomena, with_complements
from reproduction.phenomena_table import MIN_TEXTS, phenomena_tables
from reproduction.results import Results
from reproduction.specs import Experiments, SystemSpec, experiments

RESULTS = Path(__file__).parents[2] / "results"
ROWS = [SystemSpec("brnn", "BRNN"), SystemSpec("adasent", "AdaSent")]


def corpus(name: str) -> Corpus:
    """Ten times five texts; the last of all has a word that no other has."""
    texts = ["it isn't bad", "good but long", "fine", "well " * 31, "a b c d e f"] * 10
    texts[49] += " zebra"
    labels = ["pos", "neg"] * 25
    test = np.arange(40, 50) if name == "TREC" else None
    return Corpus(name, texts, list(labels), "00", test=test)


@pytest.fixture
def found(plan: Experiments, toy_registry: None) -> dict[str, Any]:
    return find_phenomena(Jobs(plan, read=corpus), "MR")


def test_what_texts_show(found: dict[str, Any]) -> None:
    flags = read_phenomena(found)
    where = {name: sorted({i % 5 for i in np.flatnonzero(mask)}) for name, mask in flags.items()}
    assert where == {
        "negation": [0],
        "contrast": [1],
        "unseen word": [4],
        "1 word": [2],
        "2 to 5 words": [0, 1],
        "6 to 10 words": [4],
        "11 to 20 words": [],
        "21 to 30 words": [],
        "31 words or more": [3],
    }
    assert np.flatnonzero(flags["unseen word"]).tolist() == [49]
    groups = with_complements(flags)
    assert groups["all"].all()
    assert (groups["no negation"] == ~flags["negation"]).all()
    assert "no 1 word" not in groups


def test_texts_that_are_never_tested_have_no_unseen_word(
    plan: Experiments, toy_registry: None
) -> None:
    flags = read_phenomena(find_phenomena(Jobs(plan, read=corpus), "TREC"))
    assert np.flatnonzero(flags["unseen word"]).tolist() == [49]


@pytest.mark.parametrize("values", [{}, [], {"n": 9, "phenomena": {"a": "AA=="}}])
def test_damaged_flags(values: Any) -> None:
    with pytest.raises(DataError, match="compute them again"):
        read_phenomena(values)


def test_groups_are_joined_by_position(found: dict[str, Any]) -> None:
    n = 100
    odd = np.arange(2 * n) % 2 == 1
    mask = np.packbits(odd)
    values = found | {"n": 2 * n}
    text = base64.b64encode(mask.tobytes()).decode()
    values["phenomena"] = {"negation": text, "1 word": base64.b64encode(bytes(25)).decode()}
    records = [
        made_up(system, "MR", right[fold * n : (fold + 1) * n], fold=fold)
        for system, right in {"adasent": odd, "brnn": ~odd}.items()
        for fold in (0, 1)
    ]
    (table,) = phenomena_tables({"MR": values}, Results(records, ROWS, ["MR"]), ["MR", "CR"])
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    low, high = (100 * x for x in wilson(100, 100))
    assert table.columns == ("Texts", "n", "BRNN", "AdaSent", "AdaSent − BRNN")
    assert cells["negation"][0] == "100"
    assert cells["negation"][2] == f"100.0 ({low:.1f} to {high:.1f})"
    assert cells["negation"][3] == "+100.00▼"
    assert cells["no negation"][3] == "−100.00▲"
    assert cells["all"][3] == "+0.00"
    assert cells["class a"][0] == "200"
    assert "1 word" not in cells  # fewer than MIN_TEXTS
    assert MIN_TEXTS > 1


def test_records_of_other_texts_are_not_joined(found: dict[str, Any]) -> None:
    records = [made_up("adasent", "MR", np.ones(25), fold=fold) for fold in (0, 1)]
    other = found | {"sha256": "11"}
    (table,) = phenomena_tables({"MR": other}, Results(records, ROWS, ["MR"]), ["MR"])
    assert table.rows == ()


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the records are not shipped here")
def test_committed_flags_are_of_the_records_texts() -> None:
    catalog = Catalog(RESULTS, experiments())
    assert list(catalog.phenomena) == list(catalog.sets)
    for data, values in catalog.phenomena.items():
        (record, *_) = read_records(RESULTS / "table2" / "nbsvm" / f"{data}-random.jsonl")
        assert record.sha256 == values["sha256"]
        assert max(record.test) < values["n"]
        flags = read_phenomena(values)
        assert all(len(mask) == values["n"] for mask in flags.values())
