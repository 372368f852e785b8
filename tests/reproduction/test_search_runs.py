"""A search trains on training parts, keeps dev curves and does nothing twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiment_cases import toy_corpus
from reproduction.jobs import Jobs
from reproduction.search_runs import run_search
from reproduction.search_table import read_search
from reproduction.specs import Experiments

pytestmark = pytest.mark.usefixtures("toy_registry")
SETTINGS: list[dict[str, Any]] = [{"epochs": 2}, {"epochs": 2, "gate_groups": 1}]


def test_a_line_for_each_training(plan: Experiments, tmp_path: Path) -> None:
    jobs = Jobs(plan, read=toy_corpus)
    path = tmp_path / "recipe.jsonl"
    found = list(run_search(jobs, "adasent", SETTINGS, "MR", [0, 2], path))
    assert len(found) == 4
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == found
    for row in found:
        job = jobs.job(plan_of(jobs, row))
        assert row["n_dev"] == len(job.dev if job.dev is not None else [])
        assert len(row["valid_accuracy"]) == 2
    assert {trial.settings for trial in read_search(tmp_path)} == {
        json.dumps(setting, sort_keys=True) for setting in SETTINGS
    }
    assert list(run_search(jobs, "adasent", SETTINGS, "MR", [0, 2], path)) == []


def test_an_official_part_has_dev_parts_of_its_own(plan: Experiments, tmp_path: Path) -> None:
    jobs = Jobs(plan, read=toy_corpus)
    rows = list(run_search(jobs, "adasent", SETTINGS[:1], "TREC", [0, 3], tmp_path / "a.jsonl"))
    assert [(row["fold"], row["seed"]) for row in rows] == [(0, 0), (0, 3)]


def plan_of(jobs: Jobs, row: dict[str, Any]) -> Any:
    from reproduction.specs import PlannedRun

    n_folds = len(jobs.folds(row["data"], "random"))
    return PlannedRun("table2", "adasent", row["data"], "random", row["fold"], n_folds, row["seed"])
