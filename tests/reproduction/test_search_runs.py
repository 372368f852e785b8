"""A search trains on training parts, keeps dev curves and does nothing twice."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adasent.estimators.neural import fit_encoded
from adasent.teaching.student import TeachingConfig
from experiment_cases import toy_corpus
from reproduction import search_runs
from reproduction.jobs import Jobs, make_estimator
from reproduction.search_runs import run_search
from reproduction.search_table import read_search
from reproduction.specs import Ablation, Experiments, experiments
from reproduction.students import Choice, teaching_defaults

pytestmark = pytest.mark.usefixtures("toy_registry")
SEARCHES = Path(search_runs.__file__).parent / "searches"
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


def test_a_setting_may_name_a_base_of_its_own(
    plan: Experiments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[str, int | None]] = []

    def note(estimators: list[Any], texts: list[Any]) -> None:
        trained.extend((clf.network_type.__name__, clf.max_height) for clf in estimators)
        fit_encoded(estimators, texts)

    monkeypatch.setattr(search_runs, "fit_encoded", note)
    ablations = {
        "tanh-on-words": Ablation("tanh-on-words", network="bias and tanh on words"),
        "words-only": Ablation("words-only", {"max_height": 1}),
    }
    jobs = Jobs(replace(plan, ablations=ablations), read=toy_corpus)
    settings = [{"epochs": 2}, *({"base": base, "epochs": 2} for base in ablations)]
    path = tmp_path / "a.jsonl"
    rows = list(run_search(jobs, "adasent", settings, "MR", [0], path))
    assert [row["base"] for row in rows] == ["adasent", *ablations]
    assert all(row["settings"] == {"epochs": 2} for row in rows)
    # What an ablation changes, its settings included, is in its trainings.
    assert trained == [("AdaSent", None), ("TanhWords", None), ("AdaSent", 1)]
    assert list(run_search(jobs, "adasent", settings, "MR", [0], path)) == []


@pytest.mark.parametrize("path", sorted(SEARCHES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_search_names_what_there_is(path: Path) -> None:
    wanted = tomllib.loads(path.read_text("utf-8"))
    plan = experiments()
    for setting in wanted["settings"]:
        base = setting.pop("base", wanted["base"])
        row = plan.system(plan.ablations[base].system if base in plan.ablations else base)
        of_teaching = {k: setting.pop(k) for k in teaching_defaults() if k in setting}
        assert row.teacher is not None or not of_teaching
        Choice(**{k: v for k, v in of_teaching.items() if k in vars(Choice())})
        TeachingConfig(**{k: v for k, v in of_teaching.items() if k in vars(TeachingConfig())})
        make_estimator(row.registered, None, **setting)


def plan_of(jobs: Jobs, row: dict[str, Any]) -> Any:
    from reproduction.specs import PlannedRun

    n_folds = len(jobs.folds(row["data"], "random"))
    return PlannedRun("table2", "adasent", row["data"], "random", row["fold"], n_folds, row["seed"])
