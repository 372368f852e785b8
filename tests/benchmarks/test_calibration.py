"""Rows and table of the calibration benchmark from made-up runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adasent.data import Corpus
from benchmarks.calibration import Run, by_chance, merged, part_of, pooled, row, table


def run(n: int, fold: str, temperature: float) -> Run:
    """Predictions that are right by their probability; before, they claimed more."""
    rng = np.random.default_rng(n)
    first = rng.uniform(0.5, 1, n)
    after = np.stack([first, 1 - first], axis=1)
    odds = (first / (1 - first)) ** temperature
    before = np.stack([odds / (1 + odds), 1 / (1 + odds)], axis=1)
    facts: dict[str, Any] = {
        "set": "MR",
        "fold": fold,
        "validation texts": 50,
        "temperature": temperature,
        "commit": "abc",
    }
    return Run(facts, (rng.random(n) > first).astype(int), before, after)


def test_a_row() -> None:
    found = row(run(2000, "1 of 10", 2.0))
    assert (found["test texts"], found["labels changed"], found["temperature"]) == (
        2000,
        0,
        "2.000",
    )
    assert float(found["calibration error, after"]) < float(found["calibration error, before"])
    assert float(found["log loss, after"]) < float(found["log loss, before"])
    assert found["accuracy, before"] == found["accuracy, after"]


def test_chance_falls_with_the_number_of_texts() -> None:
    few, many = (by_chance(run(n, "", 1.0).after).mean() for n in (200, 5000))
    assert few > 2 * many > 0


def test_folds_are_pooled_into_a_row_of_the_table() -> None:
    runs = [run(300, "1 of 10", 1.0), run(400, "2 of 10", 3.0)]
    together = pooled(runs)
    assert len(together.true) == 700
    assert together.facts["temperature"] == pytest.approx(2.0)
    rows = [{k: str(v) for k, v in row(one).items()} for one in (*runs, together)]
    lines = table(rows).splitlines()
    assert len(lines) == 5
    assert lines[4].startswith("| MR | 2 folds together | 700 | 2.000 |")
    assert lines[4].endswith(("| yes |", "| no |"))


def test_the_training_part_of_an_official_split_has_folds_of_its_own() -> None:
    labels = ["a", "b"] * 30
    corpus = Corpus("TREC", [f"text {i}" for i in range(60)], labels, "0" * 64, test=np.arange(20))
    found = [part_of(corpus, f"inside{k}") for k in range(10)]
    assert found[3][0] == "training part, 4 of 10"
    tested = np.concatenate([test for _, _, test in found])
    assert sorted(tested.tolist()) == list(range(20, 60))
    for _, training, test in found:
        assert sorted([*training.tolist(), *test.tolist()]) == list(range(20, 60))
    assert part_of(corpus, "0")[0] == "official"
    assert part_of(corpus, "0")[2].tolist() == list(range(20))


def test_rows_of_other_runs_stay() -> None:
    def line(name: str, fold: str, value: str) -> dict[str, str]:
        return {"set": name, "fold": fold, "temperature": value}

    before = [line("MR", "1 of 10", "1"), line("CR", "1 of 10", "2"), line("TREC", "official", "3")]
    new = [line("TREC", "official", "4"), line("TREC", "training part, 1 of 10", "5")]
    found = merged(before, new)
    assert [one["temperature"] for one in found] == ["1", "2", "4", "5"]
