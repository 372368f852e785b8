"""Sentences on who leads where follow from records: here from made-up ones, and on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.evaluation.records import FoldRecord
from experiment_cases import made_up
from reproduction.catalog import Catalog, open_store
from reproduction.report import captions, summary
from reproduction.report.claims import claims_table, variant, verdict
from reproduction.report.tables import n_capped
from reproduction.results import Results
from reproduction.specs import SystemSpec, experiments
from reproduction.standings import field, grouped_sets, leaders, rank, stand

PAPER = SystemSpec("adasent-paper", "AdaSent (paper)", of="adasent")
ROWS = [SystemSpec("brnn", "BRNN"), SystemSpec("cnn", "CNN"), PAPER]
ROWS += [SystemSpec("adasent", "AdaSent")]


def cell(system: str, data: str, n: int, **more: Any) -> list[FoldRecord]:
    """Two folds of 100 texts, so many of each right."""
    return [made_up(system, data, np.arange(100) < n, fold=i, n_folds=2, **more) for i in (0, 1)]


@pytest.fixture
def results() -> Results:
    records = [
        *cell("adasent", "MR", 80),
        *cell("brnn", "MR", 60),
        *cell("cnn", "MR", 81),
        *cell("adasent-paper", "MR", 90),
        *cell("adasent", "CR", 70),
        *cell("brnn", "CR", 90),
    ]
    return Results(records, ROWS, ["MR", "CR", "TREC"])


def test_a_standing(results: Results) -> None:
    found = stand(results, "adasent", "brnn", results.sets)
    assert (found.ahead, found.behind) == (["MR"], ["CR"])
    assert found.words() == "**+20.00** (MR), **−20.00** (CR)"
    other = stand(results, "adasent-paper", "cnn", results.sets)
    assert other.words() == "**+9.00** (MR)"
    assert stand(results, "adasent", "cnn", ["MR"]).words() == "−1.00 (MR)"


def test_the_other_row_of_adasent_is_no_rival(results: Results) -> None:
    rows = field(results, ROWS[-1])
    assert [row.title for row in rows] == ["BRNN", "CNN", "AdaSent"]
    assert leaders(results, rows, ["MR", "CR", "TREC"]) == {"MR": "CNN", "CR": "BRNN"}
    assert leaders(results, ROWS, ["MR"]) == {"MR": "AdaSent (paper)"}
    assert rank(results, rows, "adasent", "MR", "random") == 2
    assert rank(results, rows, "adasent", "TREC", "random") is None
    winners = {"MR": "CNN", "CR": "BRNN", "TREC": "CNN"}
    assert grouped_sets(winners) == "CNN on MR and TREC; BRNN on CR"


def test_verdicts() -> None:
    assert [verdict(n, 5) for n in (0, 3, 5)] == ["no", "on 3 of 5 sets", "yes"]


def test_claims_by_row(tmp_path: Path) -> None:
    """AdaSent leads everywhere, the paper's row nowhere; the verdicts say so."""
    store = open_store(tmp_path)
    plan = experiments()
    means = {"adasent": 95, "adasent-paper": 40}
    for system in plan.systems:
        for data in ("MR", "CR", "SUBJ", "MPQA", "TREC"):
            for record in cell(system, data, means.get(system, 60)):
                store.add(record)
    catalog = Catalog(tmp_path, plan)
    catalog.audits["MPQA"] = _Majority()  # type: ignore[assignment]
    rows = [[c.text for c in row] for row in claims_table(catalog).rows]

    def held(start: str, row: str) -> str:
        (found,) = [one[3] for one in rows if one[0].startswith(start) and one[1] == row]
        return found

    assert held("“AdaSent consistently outperforms P.", "AdaSent") == "yes"
    assert held("“AdaSent consistently outperforms P.", "AdaSent (paper)") == "no"
    assert held("“AdaSent significantly outperforms G", "AdaSent") == "yes"
    assert held("“AdaSent consistently outperforms BRNN", "AdaSent") == "yes; 5 supported"
    assert held("“AdaSent consistently outperforms BRNN", "AdaSent (paper)") == "no"
    assert held("Best of all twelve systems on MR, CR", "AdaSent") == "yes"
    assert held("Best of all twelve systems on MR, CR", "AdaSent (paper)") == "no"
    unmeasured = [row[3] for row in rows if row[2] == "–"]
    assert unmeasured
    assert set(unmeasured) == {"not measured"}


class _Majority:
    majority = 0.5


def test_sentences_of_the_committed_records(catalog: Catalog) -> None:
    text = summary.in_short(catalog)
    assert text.startswith("- AdaSent")
    best = {
        data: max(catalog.results.mean(s.name, data) or 0 for s in catalog.systems)
        for data in catalog.sets
    }
    for line in text.splitlines():
        if line.startswith("- Highest mean"):
            titles = {s.title: s.name for s in catalog.systems}
            for part in line.removeprefix("- Highest mean of all rows: ").rstrip(".").split("; "):
                title, sets = part.split(" on ")
                for data in sets.replace(" and ", ", ").split(", "):
                    assert catalog.results.mean(titles[title], data) == best[data]
    assert "leads of AdaSent" in summary.after_holm(catalog)
    assert summary.before_rounding(catalog)[0] <= summary.before_rounding(catalog)[1]


def test_variants_are_sorted_by_what_is_shown(catalog: Catalog) -> None:
    losses, gains, alike, *_ = summary.ablation_words(catalog).splitlines()
    for name in catalog.ablations.variants:
        found = variant(catalog, name)
        lost = found.supported & set(found.behind)
        won = found.supported & set(found.ahead)
        assert (f"`{name}`" in losses) == bool(lost)
        assert (f"`{name}`" in gains) == bool(won)
        assert (f"`{name}`" in alike) == bool(found.differences and not lost and not won)


@pytest.mark.parametrize(("vote", "expected"), [(0.9, "wrong"), (0.1, "right")])
def test_the_caption_of_the_example_says_if_the_level_is_wrong(vote: float, expected: str) -> None:
    data = {
        "label": "negative",
        "positive": "positive",
        "beliefs": [0.2, 0.5, 0.3],
        "level_probabilities": [0.4, vote, 0.6],
        "probability": 0.45,
    }
    text = captions.example_caption(data)
    assert f"level 2 is believed most (0.500) and is {expected} by itself" in text
    assert text.endswith("right level.") == (expected == "wrong")
    assert f"{1 + (expected == 'right')} of 3 levels are right" in text
    assert "the consensus is right" in text


def test_the_caption_of_components_says_what_is_drawn() -> None:
    panels = [
        {"data": "MR", "system": system, "separated": share, "drawn": "unseen"}
        for system, share in {"AdaSent": 0.9, "cBoW": 0.8}.items()
    ]
    text = captions.pca_caption({"panels": panels})
    assert "Only texts that no model was trained on are drawn" in text
    assert text.endswith("stand further apart on: MR.")
    del panels[0]["drawn"]
    assert "not one of unseen texts" in captions.pca_caption({"panels": panels})


def test_runs_that_end_at_the_cap(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for record, epoch in zip(cell("rnn", "TREC", 60), (14, 15), strict=True):
        store.add(replace(record, best_epoch=epoch))
    catalog = Catalog(tmp_path, experiments())
    assert n_capped(catalog, "rnn", "TREC") == 1
    assert n_capped(catalog, "rnn", "MR") == 0
