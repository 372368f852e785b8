"""The tables of docs/explanations.md are those of the committed figures."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "faithfulness.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the benchmarks are not shipped here")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_tables_are_made_from_the_figures(script: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "explanations.md").read_text(encoding="utf-8")
    results = [
        script["read"](script["RESULTS"] / f"{name}.csv")
        for name in ("faithfulness", "explain_cost")
    ]
    for name, body in script["tables"](*results).items():
        assert body.count("\n") >= 3
        assert script["fill"](page, name, body) == page


def test_ours_is_at_least_as_faithful_as_integrated_gradients(script: dict[str, Any]) -> None:
    rows = script["read"](script["RESULTS"] / "faithfulness.csv")
    for name in ("MR", "TREC"):
        by_method = {row["method"]: row for row in rows if row["set"] == name}
        ours, other = by_method[script["OURS"]], by_method[script["BASELINE"]]
        assert int(ours["texts"]) >= 200
        assert float(ours["comprehensiveness"]) >= float(other["comprehensiveness"])
        assert float(ours["sufficiency"]) <= float(other["sufficiency"])
        assert float(ours["correlation"]) >= float(other["correlation"])
        assert float(ours["predictions"]) < 0.1 * float(other["predictions"])


def test_a_page_without_marks_is_refused(script: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="marks of 'cost'"):
        script["fill"]("no marks", "cost", "|")


def test_rank_correlation(script: dict[str, Any]) -> None:
    spearman = script["spearman"]
    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])) == pytest.approx(1)
    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, -9.0])) == pytest.approx(-1)
    assert np.isnan(spearman(np.array([1.0, 1.0]), np.array([1.0, 2.0])))


def test_deleting_the_only_word_leaves_the_unknown_one(
    script: dict[str, Any], predictor: Any
) -> None:
    judge = script["Judge"](predictor, ["good", "the plot was awful"])
    falls = judge.leave_one_out()
    empty = predictor.network.probabilities([np.array([1])])[0]
    assert falls[0] == pytest.approx([judge.p[0] - empty[judge.best[0]]])
    judged = judge.judge(falls, falls)
    assert judged.shape == (2, 3)
    assert judged[1, 2] == pytest.approx(1)
