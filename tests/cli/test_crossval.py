"""Folds from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from adasent.evaluation.records import read_records

Run = Callable[..., Result]
Settings = Callable[..., list[str]]


def test_folds_are_shown_recorded_and_not_run_again(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "folds.jsonl"
    args = ["crossval", reviews_csv, "--folds", 2, "--out", out, *settings("epochs=1")]
    first = run(*args)
    assert first.exit_code == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0] == "reviews.csv: 60 texts, 2 random folds"
    assert lines[1].startswith("seed 0  fold  1/2  accuracy ")
    assert lines[3].startswith("accuracy ")
    assert "± " in lines[3]
    assert "95 % interval" in lines[3]
    assert len(read_records(out)) == 2

    second = run(*args, "--seeds", "0-1")
    assert second.stdout.count("recorded before") == 2
    assert [(r.seed, r.fold) for r in read_records(out)] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_official_split_once_a_seed(run: Run, settings: Settings, toy: Path) -> None:
    result = run("crossval", "TOY", "--seeds", "3", *settings("epochs=1"))
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "TOY: 24 texts, its official split"
    assert lines[1].startswith("seed 3  fold  1/1")
    assert "±" not in lines[2]  # one run has no spread


def test_grouped(run: Run, settings: Settings, toy: Path) -> None:
    result = run("crossval", "TOY", "--grouped", "--folds", "2", *settings("epochs=1"))
    assert "2 grouped folds" in result.stdout
    assert "sd of 2 folds" in result.stdout


def test_the_seed_is_not_a_setting(run: Run, reviews_csv: Path) -> None:
    result = run("crossval", reviews_csv, "--set", "random_state=1")
    assert result.exit_code == 1
    assert "--seeds" in result.stderr


@pytest.mark.parametrize("recorded", [True, False])
def test_ctrl_c_says_what_is_done(
    run: Run,
    reviews_csv: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recorded: bool,
) -> None:
    def runs(*_: Any, **__: Any) -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("adasent.evaluation.crossval.cross_validate", runs)
    out = tmp_path / "f.jsonl"
    result = run("crossval", reviews_csv, *(["--out", out] if recorded else []))
    assert result.exit_code == 130
    assert "0 of 10 folds are done" in result.stderr
    assert (str(out) in result.stderr) == recorded
