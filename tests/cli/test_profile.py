"""At which scale a model decides, on the screen and in files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Run = Callable[..., Result]


def test_the_screen_answers_and_shows_the_tables(run: Run, model: Path, reviews_csv: Path) -> None:
    result = run("profile", model, reviews_csv)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("reviews.csv: 60 texts\nDoes the task need word order? ")
    for title in ("Scale by predicted class", "right", "Belief by length", "most often decide"):
        assert title in result.stdout
    assert "the model was trained on these texts" in result.stderr


def test_files_and_json(run: Run, model: Path, reviews_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "profile"
    result = run("profile", model, reviews_csv, "--out", out, "--json")
    values = json.loads(result.stdout)
    assert values["n"] == 60
    assert values["scales"][-1]["class"] == "all"
    assert 0 <= values["order"]["shuffled"] <= 1
    assert {path.name for path in out.iterdir()} >= {"profile.html", "scales.csv", "order.csv"}
    again = run("profile", model, reviews_csv, "--out", out)
    assert again.exit_code == 1
    assert "holds a profile already; add --force" in again.stderr
    assert "written to" in run("profile", model, reviews_csv, "--out", out, "--force").stdout


def test_labels_of_another_task_are_refused(
    run: Run, model: Path, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    data = write_csv(tmp_path / "d.csv", ["good", "bad"], ["x", "y"], ("text", "label"))
    result = run("profile", model, data)
    assert result.exit_code == 1
    assert "check the label column" in result.stderr
