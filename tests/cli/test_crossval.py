"""Folds from the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from adasent.evaluation.records import read_records
from adasent.vectors.minilm import MiniLMWords

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
    assert "  macro F1 " in lines[1]
    for line, title in zip(lines[3:6], ("accuracy ", "macro F1 ", "balanced acc"), strict=True):
        assert line.startswith(title)
        assert "± " in line
        assert "95 % interval" in line
    assert lines[7].split() == ["class", "precision", "recall", "F1", "texts"]
    assert [line.split()[-1] for line in lines[9:11]] == ["30", "30"]
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


def test_records_name_the_vectors_that_auto_stands_for(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    tmp_path: Path,
    minilm_wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ADASENT_VECTORS", str(minilm_wheel))
    out = tmp_path / "folds.jsonl"
    result = run("crossval", reviews_csv, "--folds", 2, "--out", out, *settings("epochs=1"))
    assert result.exit_code == 0, result.stderr
    (record, _) = read_records(out)
    assert [one["sha256"] for one in record.spec["vectors"]] == [MiniLMWords(minilm_wheel).sha256]


def test_workers_make_the_same_folds(run: Run, reviews_csv: Path) -> None:
    args = ["crossval", reviews_csv, "--folds", 3, "--system", "mnb"]
    one, two = run(*args), run(*args, "--workers", 2)
    assert two.exit_code == 0, two.stderr

    def but_for_times(text: str) -> str:
        return re.sub(r" +[\d.]+ s$", "", text, flags=re.MULTILINE)

    assert but_for_times(two.stdout) == but_for_times(one.stdout)


def test_an_address_without_ray_and_ray_that_is_not_there(
    run: Run, reviews_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("crossval", reviews_csv, "--system", "mnb", "--address", "here:1")
    assert "--address: it is of a Ray cluster; add --engine ray" in refused.stderr
    monkeypatch.setitem(sys.modules, "ray", None)
    missing = run("crossval", reviews_csv, "--system", "mnb", "--engine", "ray")
    assert missing.exit_code == 1
    assert "pip install 'adasent[ray]'" in missing.stderr
