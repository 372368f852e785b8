"""Models on an encoder, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import adasent

Run = Callable[..., Result]
Settings = Callable[..., list[str]]


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.usefixtures("own_cache")
def test_from_train_to_explain(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    encoder_folder: Path,
    tmp_path: Path,
    tuned: bool,
) -> None:
    out = tmp_path / "model"
    words = [reviews_csv, "--encoder", encoder_folder, *(["--tune-encoder"] if tuned else [])]
    more = settings("tuning_epochs=1")
    result = run("train", *words, "--out", out, *more)
    assert result.exit_code == 0, result.stderr
    how = "tuned" if tuned else "frozen"
    assert f"encoder             {encoder_folder}, {how}" in result.stdout
    assert {path.name for path in out.iterdir()} >= {"encoder", "config.json"}
    assert run("train", *words, "--out", out, *more).exit_code == 1  # there already

    result = run("evaluate", out, reviews_csv, "--format", "json")
    assert 0 <= json.loads(result.stdout)["accuracy"] <= 1
    result = run("predict", out, "-", "--proba", stdin="a good film\n\nan \0 odd one\n")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == 3
    assert sum(lines[0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    texts = ["\u00c9T\u00c9 isn\u2019t a Good film", "\u0130 bad"]
    lines = run("predict", out, "-", "--proba", stdin="\n".join(texts)).stdout.splitlines()
    for line, row in zip(lines, adasent.load(out).predict_proba(texts), strict=True):
        found = list(json.loads(line)["probabilities"].values())
        assert found == pytest.approx(row.tolist(), abs=1e-5)
    result = run("explain", out, "a good film", "--method", "fast")
    assert "each add up from" in result.stdout
    assert "word order" in run("profile", out, reviews_csv).stdout
    result = run("crossval", *words, "--folds", "2", *more)
    assert result.exit_code == 0, result.stderr
    assert "accuracy" in result.stdout


def test_refusals(run: Run, reviews_csv: Path, encoder_folder: Path, tmp_path: Path) -> None:
    def said(*words: object) -> str:
        result = run("train", reviews_csv, "--out", tmp_path / "model", *words)
        assert result.exit_code == 1
        assert not (tmp_path / "model").exists()
        return result.stderr

    encoder = ("--encoder", encoder_folder)
    assert "nbsvm cannot stand on an encoder" in said("--system", "nbsvm", *encoder)
    assert "mv-recnn cannot stand on an encoder" in said("--system", "mv-recnn", *encoder)
    assert "there is no encoder to tune; give --encoder too" in said("--tune-encoder")
    assert "there is no folder" in said("--encoder", tmp_path / "nothing")
    assert "warmup must be" in said(*encoder, "--tune-encoder", "--set", "warmup=2")


def test_only_the_first_of_several_processes_prints_and_saves(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        result = run("train", reviews_csv, "--out", tmp_path / "model", *settings())
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / "model" / "config.json").exists() is (rank == "0")
        assert bool(result.stdout) is (rank == "0")
