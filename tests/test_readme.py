"""The README's figures are those of the committed records."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="the records are not shipped here")
def test_accuracy_table_is_made_from_the_records() -> None:
    table = runpy.run_path(str(ROOT / "benchmarks" / "defaults.py"))["table"]()
    assert table.count("\n") >= 2
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="the records are not shipped here")
def test_what_is_said_below_the_accuracy_table() -> None:
    """AdaSent highest on four sets, BRNN on the fifth, told apart on CR; the paper's row behind."""
    from reproduction.catalog import Catalog
    from reproduction.cells import Place
    from reproduction.specs import experiments

    results = Catalog(ROOT / "results", experiments()).results
    sets = ("MR", "CR", "SUBJ", "MPQA", "TREC")
    best = {
        name: {data for data in sets if results.is_best(Place(name, data, "random"))}
        for name in ("adasent", "brnn")
    }
    assert len(best["adasent"]) == 4
    assert best["brnn"] == set(sets) - best["adasent"]
    for data in sets:
        test = results.test("brnn", data)
        assert test is not None
        assert test.supported is (data == "CR")
        paper, brnn = (results.mean(name, data) for name in ("adasent-paper", "brnn"))
        assert paper is not None
        assert brnn is not None
        assert paper < brnn
