"""Texts to label next, and texts that got no label."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import adasent
from adasent.cli.to_label import COLUMNS

Run = Callable[..., Result]
TEXTS = ["a good film", "the plot was awful", "unheard of", "a film", "a film film", ""]


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_the_least_certain_come_first(run: Run, model: Path) -> None:
    result = run("suggest", model, "-", "--n", 9, stdin="\n".join(TEXTS) + "\n")
    assert result.exit_code == 0, result.stderr
    rows = rows_of(result.stdout)
    assert tuple(rows[0]) == COLUMNS
    assert all(row["label"] == "" for row in rows)
    assert [TEXTS[int(row["row"])] for row in rows] == [row["text"] for row in rows]
    confidence = [float(row["confidence"]) for row in rows]  # of two classes, margin's order
    assert confidence == sorted(confidence)
    assert len(rows) == 4  # one of the two films, and no empty text
    predictor = adasent.load(model)
    assert [row["guess"] for row in rows] == predictor.predict([r["text"] for r in rows]).tolist()
    few = run("suggest", model, "-", "--n", 2, "--by", "entropy", stdin="\n".join(TEXTS))
    assert rows_of(few.stdout) == rows[:2]


def test_the_file_trains_when_it_is_filled_in(
    run: Run, model: Path, reviews_csv: Path, tmp_path: Path, settings: Callable[..., list[str]]
) -> None:
    out = tmp_path / "to-label.csv"
    result = run("suggest", model, reviews_csv, "--n", 20, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert f"of 60 texts written to {out}" in result.stdout
    rows = rows_of(out.read_text(encoding="utf-8"))
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(row | {"label": row["guess"]} for row in rows)
    done = run("train", out, "--out", tmp_path / "next", *settings("epochs=1"))
    assert done.exit_code == 0, done.stderr
    assert f"to-label.csv: {len(rows)} texts" in done.stdout
    again = run("suggest", model, reviews_csv, "--out", out)
    assert (again.exit_code, "--force" in again.stderr) == (1, True)


def test_nothing_to_choose_from(run: Run, model: Path) -> None:
    result = run("suggest", model, "-", stdin="")
    assert result.exit_code == 1
    assert "expected texts to choose from" in result.stderr


@pytest.mark.parametrize("command", ["suggest", "predict"])
def test_neither_needs_torch_or_scikit_learn(command: str, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "t.txt"
    data.write_text("a good film\nthe plot was awful\n")
    options = ["--min-confidence", "0.9"] if command == "predict" else []
    words = ["adasent", command, str(model), str(data), *options]
    code = (
        "import sys\n"
        "for name in ('torch', 'sklearn', 'scipy'): sys.modules[name] = None\n"
        f"sys.argv = {words!r}\n"
        "from adasent.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_unsure_texts_get_no_label_and_go_to_review(run: Run, model: Path, tmp_path: Path) -> None:
    stdin = "\n".join(TEXTS[:4])
    highest = adasent.load(model).predict_proba(TEXTS[:4]).max(axis=1)
    least = str(sorted(highest)[2])  # two are below
    review = tmp_path / "unsure.csv"
    args = ("predict", model, "--min-confidence", least)
    result = run(*args, "--review", review, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    found = [json.loads(line)["predicted"] for line in result.stdout.splitlines()]
    assert [label is None for label in found] == (highest < float(least)).tolist()
    assert f"2 of 4 texts got no label, written to {review}" in result.stderr
    rows = rows_of(review.read_text(encoding="utf-8"))
    assert [row["text"] for row in rows] == [
        text for text, label in zip(TEXTS, found, strict=False) if label is None
    ]
    table = run(*args, "--format", "tsv", stdin=stdin)
    assert [line == "" for line in table.stdout.split("\n")[:4]] == [x is None for x in found]
    assert "2 of 4 texts got no label\n" in table.stderr


def test_review_needs_a_probability_and_a_new_file(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    result = run("predict", model, "--review", path, stdin="good")
    assert (result.exit_code, "--min-confidence" in result.stderr) == (1, True)
    path.write_text("mine")
    args = ("predict", model, "--review", path, "--min-confidence", "0.5")
    result = run(*args, stdin="good")
    assert (result.exit_code, "--force" in result.stderr) == (1, True)
    assert path.read_text() == "mine"
    result = run(*args, "--out", path, "--force", "--format", "csv", stdin="good")
    assert (result.exit_code, "a file of its own" in result.stderr) == (1, True)
    assert path.read_text() == "mine"
    result = run("predict", model, "--threshold", "0.4", stdin="good")
    assert (result.exit_code, "--threshold: the model gives" in result.stderr) == (1, True)
    assert run(*args, "--force", stdin="good").exit_code == 0
    assert path.read_text().startswith("text,label,")


def test_a_review_is_whole_or_not_there(run: Run, model: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "r.csv", tmp_path / "d.jsonl"
    data.write_text('{"text": "good"}\n{"text": 5}\n')
    result = run("predict", model, data, "--min-confidence", "1", "--review", path)
    assert result.exit_code == 1
    assert list(tmp_path.glob("r.csv*")) == []
