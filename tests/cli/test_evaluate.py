"""Scores of a model on labelled texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import adasent
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
    columns = "columns: text from 'Review', label from 'Stars'\n"
    assert (result.exit_code, result.stderr) == (0, columns)
    first, second, *_ = result.stdout.splitlines()
    assert re.match(r"unseen\.csv: accuracy [01]\.\d{4}, \d of 4 texts, 95 % interval", first)
    assert re.match(r"macro F1 [01]\.\d{4}, balanced accuracy [01]\.\d{4}$", second)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[3] == ["class", "precision", "recall", "F1", "texts"]
    assert [row[-1] for row in rows if row[:1] in (["neg"], ["pos"])][:2] == ["2", "2"]
    assert "confusion" in result.stdout
    assert re.search(r"calibration error 0\.\d{3} in 15 bins: mean confidence", result.stdout)
    assert "few texts           4 texts in the test part" in result.stdout


def test_json(run: Run, model: Path, unseen: Path) -> None:
    args = ("--text", "Review", "--label", "Stars")
    values = json.loads(run("evaluate", model, unseen, *args, "--json").stdout)
    before = run("evaluate", model, unseen, *args, "--format", "json")  # as it was called once
    assert json.loads(before.stdout) == values
    assert values["n"] == 4
    assert values["part"] == "all"
    assert [one["label"] for one in values["classes"]] == ["neg", "pos"]
    assert sum(map(sum, values["confusion"])) == 4
    assert values["accuracy"] == sum(values["confusion"][i][i] for i in (0, 1)) / 4
    assert {"macro_f1", "balanced_accuracy"} <= values.keys()
    assert sum(one["n"] for one in values["reliability"]["bins"]) == 4
    assert values["reliability"]["accuracy"] == values["accuracy"]
    assert [note["title"] for note in values["notes"]] == ["few texts"]


@pytest.mark.parametrize("name", ["r.png", "r.svg"])
def test_reliability_is_drawn(run: Run, model: Path, reviews_csv: Path, name: str) -> None:
    path = reviews_csv.parent / name
    result = run("evaluate", model, reviews_csv, "--reliability", path)
    assert result.exit_code == 0, result.stderr
    assert path.stat().st_size > 5000
    assert f"drawn in {path}" in result.stdout
    again = run("evaluate", model, reviews_csv, "--reliability", path)
    assert (again.exit_code, "--force" in again.stderr) == (1, True)
    wrong = run("evaluate", model, reviews_csv, "--reliability", path.with_suffix(".gif"))
    assert (wrong.exit_code, ".png or .svg" in wrong.stderr) == (1, True)


def test_a_class_never_predicted_is_told(
    run: Run, model: Path, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    (said,) = adasent.load(model).predict(["superb music"]).tolist()
    (other,) = {"pos", "neg"} - {said}
    labels = [said, said, other] * 60
    data = write_csv(tmp_path / "d.csv", ["superb music"] * 180, labels, ("text", "label"))
    result = run("evaluate", model, data)
    assert f"never predicted     {other} (60 texts); more texts" in result.stdout
    assert "few texts" in result.stdout  # 120 of 180 right: known to 7 points only


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
    assert "--json has the whole matrix" in shown
    assert shown.splitlines()[-1].split() == ["1", "class-01", "class-00"]
