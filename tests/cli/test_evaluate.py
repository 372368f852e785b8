"""Scores of a model on labelled texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from adasent.cli import evaluate
from adasent.data import Corpus
from adasent.evaluation.metrics import score_predictions

Run = Callable[..., Result]


@pytest.fixture
def unseen(tmp_path: Path, write_csv: Callable[..., Path]) -> Path:
    texts = ["a good film", "the plot was awful", "superb music", "the cast was good"]
    path = tmp_path / "unseen.csv"
    return write_csv(path, texts, ["pos", "neg", "pos", "neg"], ("Review", "Stars"))


def test_text(run: Run, model: Path, unseen: Path) -> None:
    result = run("evaluate", model, unseen, "--text", "Review", "--label", "Stars")
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.match(r"unseen\.csv: accuracy [01]\.\d{4}, \d of 4 texts\n", result.stdout)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[2] == ["class", "precision", "recall", "F1", "texts"]
    assert [row[-1] for row in rows if row[:1] in (["neg"], ["pos"])][:2] == ["2", "2"]
    assert "confusion" in result.stdout


def test_json(run: Run, model: Path, unseen: Path) -> None:
    args = ("--text", "Review", "--label", "Stars", "--format", "json")
    values = json.loads(run("evaluate", model, unseen, *args).stdout)
    assert values["n"] == 4
    assert values["part"] == "all"
    assert [one["label"] for one in values["classes"]] == ["neg", "pos"]
    assert sum(map(sum, values["confusion"])) == 4
    assert values["accuracy"] == sum(values["confusion"][i][i] for i in (0, 1)) / 4


def test_says_when_the_texts_are_those_of_training(
    run: Run, model: Path, reviews_csv: Path
) -> None:
    result = run("evaluate", model, reviews_csv)
    assert result.exit_code == 0
    assert "warning: the model was trained on these texts" in result.stderr
    assert "accuracy 1.0000, 60 of 60 texts" in result.stdout


def test_parts_of_an_official_split(
    run: Run, settings: Callable[..., list[str]], toy: Path, tmp_path: Path
) -> None:
    assert run("train", "TOY", "--out", tmp_path / "m", "--quiet", *settings()).exit_code == 0
    test = run("evaluate", tmp_path / "m", "TOY")
    assert "of 8 texts" in test.stdout
    assert test.stderr == ""
    for split, n in {"train": 16, "all": 24}.items():
        result = run("evaluate", tmp_path / "m", "TOY", "--split", split)
        assert f"of {n} texts" in result.stdout
        assert "trained on these texts" in result.stderr


def test_a_file_has_no_official_split(run: Run, model: Path, reviews_csv: Path) -> None:
    result = run("evaluate", model, reviews_csv, "--split", "test")
    assert result.exit_code == 1
    assert "no official split" in result.stderr


def test_unknown_labels_count_as_errors(
    run: Run, model: Path, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    data = write_csv(tmp_path / "d.csv", ["good", "fine"], ["pos", "meh"], ("text", "label"))
    result = run("evaluate", model, data)
    assert result.exit_code == 0
    assert "1 of 2 texts carry labels that the model does not know ('meh')" in result.stderr
    assert "\nmeh" in result.stdout
    data = write_csv(tmp_path / "d.csv", ["good", "fine"], [1, 0], ("text", "label"))
    result = run("evaluate", model, data)
    assert result.exit_code == 1
    assert "check the label column" in result.stderr


def test_a_folder_that_is_no_model(run: Run, tmp_path: Path, reviews_csv: Path) -> None:
    result = run("evaluate", tmp_path, reviews_csv)
    assert result.exit_code == 1
    assert "config.json is missing" in result.stderr


def test_many_classes_show_their_confusions_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    true = [f"class-{i:02d}" for i in range(12)] * 2
    predicted = ["class-00"] * 2 + true[2:]
    report = score_predictions(true, predicted)
    evaluate._print(report, Corpus("many", true, list(true), ""))
    shown = capsys.readouterr().out
    assert "--format json has the whole matrix" in shown
    assert shown.splitlines()[-1].split() == ["1", "class-01", "class-00"]
