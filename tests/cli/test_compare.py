"""Saved models side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def baseline(run: Run, reviews_csv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "baseline"
    assert run("train", reviews_csv, "--out", folder, "--system", "mnb", "--quiet").exit_code == 0
    return folder


@pytest.fixture
def held(tmp_path: Path, write_csv: Callable[..., Path]) -> Path:
    texts = ["a good film", "the plot was awful", "superb music", "the cast was good"] * 3
    return write_csv(
        tmp_path / "held.csv", texts, ["pos", "neg", "pos", "neg"] * 3, ("text", "label")
    )


def test_text(run: Run, model: Path, baseline: Path, held: Path) -> None:
    result = run("compare", model, baseline, "--data", held)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "held.csv: 12 texts, 2 models"
    assert lines[2].split()[:4] == ["model", "system", "accuracy", "macro"]
    rows = {line.split()[0]: line.split() for line in lines[4:6]}
    assert rows["reviews"][1] == "adasent"
    assert rows["baseline"][1] == "mnb"
    assert "reviews - baseline: " in result.stdout
    assert "McNemar's p = " in result.stdout
    assert "pairs were tested" not in result.stdout


def test_json_and_who_is_right_alone(run: Run, model: Path, baseline: Path, held: Path) -> None:
    args = ("compare", model, baseline, "--data", held)
    values = json.loads(run(*args, "--json").stdout)
    assert list(values["models"]) == ["reviews", "baseline"]
    assert values["models"]["baseline"]["texts_per_second"] > 0
    (pair,) = values["pairs"]
    alone = {name: len(one["alone_right"]) for name, one in values["models"].items()}
    mcnemar = pair["tests"]["mcnemar"]
    assert list(alone.values()) == [mcnemar["n_first"], mcnemar["n_second"]]
    assert values["n_all_right"] + values["n_none_right"] + sum(alone.values()) == 12
    shown = run(*args, "--examples", "1").stdout
    for name, n in alone.items():
        assert (f"only {name} is right" in shown) == (n > 0)
    assert "is right" not in run(*args, "--examples", "0").stdout


def test_what_cannot_be_compared(run: Run, model: Path, held: Path, tmp_path: Path) -> None:
    for folders, words in {
        (model,): "at least two folders",
        (model, model): "given twice",
        (model, tmp_path): "config.json is missing",
    }.items():
        result = run("compare", *folders, "--data", held)
        assert result.exit_code == 1
        assert words in result.stderr


def test_folders_of_one_name_go_by_their_paths(
    run: Run, model: Path, baseline: Path, held: Path
) -> None:
    link = held.parent / model.name
    link.symlink_to(baseline)
    found = json.loads(run("compare", model, link, "--data", held, "--json").stdout)
    assert len(found["models"]) == 2
