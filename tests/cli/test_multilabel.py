"""Several labels a text from the command line: train, evaluate, predict, explain."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adasent

Run = Callable[..., Any]
WORDS = {"joy": "happy", "😢 sad": "tears"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    lines = ["text,topics"]
    for i in range(160):
        own = [name for name in WORDS if rng.random() < 0.5]
        lines.append(
            f"a w{i % 7} v{i % 11} {' '.join(WORDS[name] for name in own)},{' | '.join(own)}"
        )
    path = tmp_path_factory.mktemp("multilabel") / "mails.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(run: Run, data: Path, settings: Callable[..., list[str]]) -> tuple[Path, Any]:
    out = data.parent / "model"
    options = ("--label", "topics", "--label-separator", "|")
    more = settings("epochs=15", "learning_rate=0.02", "hidden_size=16")
    result = run("train", data, "--out", out, *options, *more)
    assert result.exit_code == 0, result.output
    return out, result


def test_train_says_how_many_labels_there_are(trained: tuple[Path, Any], data: Path) -> None:
    out, result = trained
    said = result.output
    lines = data.read_text(encoding="utf-8").splitlines()[1:]
    n_none = sum(line.endswith(",") for line in lines)
    n_labels = sum(name in line.partition(",")[2] for line in lines for name in WORDS)
    assert f"160 texts, 2 classes; {n_labels / 160:.2f} a text" in said
    assert f"{n_none} texts have none" in said
    assert "validation micro F1" in said
    assert "validation accuracy" not in said
    assert "adasent crossval" in said
    assert adasent.load(out).predict(["happy tears"])[0] == ("joy", "😢 sad")


def test_evaluate(run: Run, trained: tuple[Path, Any], data: Path) -> None:
    options = ("--label", "topics", "--label-separator", "|")
    said = run("evaluate", trained[0], data, *options)
    assert said.exit_code == 0, said.output
    for name in ("micro F1", "macro F1", "subset accuracy", "Hamming loss", "😢 sad"):
        assert name in said.stdout
    found = json.loads(run("evaluate", trained[0], data, *options, "--format", "json").stdout)
    assert found["micro_f1"] > 0.9
    assert [one["label"] for one in found["classes"]] == ["joy", "😢 sad"]


def test_a_model_and_a_file_that_do_not_go_together(
    run: Run, trained: tuple[Path, Any], data: Path
) -> None:
    both = data.parent / "both.csv"
    both.write_text("text,topics\na,joy|😢 sad\n", encoding="utf-8")
    result = run("evaluate", trained[0], both, "--label", "topics", "--label-separator", ";")
    assert result.exit_code == 1
    assert "no label is one of the model's" in result.stderr
    filled = data.parent / "filled.csv"
    filled.write_text("text,topics\na,joy\nb,joy\n")
    result = run("evaluate", trained[0], filled, "--label", "topics")
    assert result.exit_code == 1
    assert "--label-separator" in result.stderr


def test_crossval(run: Run, data: Path, settings: Callable[..., list[str]]) -> None:
    options = ("--label", "topics", "--label-separator", "|", "--folds", "2")
    more = settings("epochs=8", "learning_rate=0.03")
    result = run("crossval", data, *options, *more)
    assert result.exit_code == 0, result.output
    for name in ("micro F1", "macro F1", "subset accuracy", "Hamming loss", "😢 sad"):
        assert name in result.stdout
    assert "balanced" not in result.stdout
    refused = run("crossval", data, *options, "--system", "nbsvm")
    assert refused.exit_code == 1
    assert "one label a text" in refused.stderr


def test_audit(run: Run, data: Path) -> None:
    options = ("--label", "topics", "--label-separator", "|")
    result = run("data", "audit", data, *options)
    assert result.exit_code == 0, result.output
    found = json.loads(run("data", "audit", data, *options, "--json").stdout)
    assert {"", "joy", "😢 sad"} < set(found["label_sets"])
    assert len(found["label_sets"]) == 4
    assert sum(found["label_sets"].values()) == 160
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    n = found["label_sets"][""]
    assert f"(none) {n} {n / 160:.1%}" in lines
    assert "texts with more than one set of labels 0 0" in lines


def test_profile(run: Run, trained: tuple[Path, Any], data: Path) -> None:
    options = ("--label", "topics", "--label-separator", "|")
    result = run("profile", trained[0], data, *options, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [row["class"] for row in found["scales"]] == ["joy", "😢 sad", "all"]
    assert found["scales"][-1]["precision"] > 0.9


def test_teach(run: Run, trained: tuple[Path, Any], data: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("".join(f"a w{i} v{i} {'happy tears'[: i % 12]}\n" for i in range(40)))
    options = ("--label", "topics", "--label-separator", "|", "--epochs", "6")
    out = tmp_path / "student"
    result = run(
        "teach", data, *options, "--teacher", trained[0], "--unlabelled", more, "--out", out
    )
    assert result.exit_code == 0, result.output
    assert "micro F1" in result.stdout
    assert "subset accuracy on 16 held-back texts" in result.stdout
    assert adasent.load(out).thresholds_ is not None


def test_predict(run: Run, trained: tuple[Path, Any]) -> None:
    texts = "a w1 happy\nhappy tears\na w1 v1\n"
    lines = [
        json.loads(line)
        for line in run("predict", trained[0], "--proba", stdin=texts).stdout.splitlines()
    ]
    assert [line["predicted"] for line in lines] == [["joy"], ["joy", "😢 sad"], []]
    assert all(0 <= p <= 1 for line in lines for p in line["probabilities"].values())
    sure = lines[1]["confidence"]
    assert sure == min(lines[1]["probabilities"].values())
    assert lines[2]["confidence"] is None
    found = run("predict", trained[0], "--format", "tsv", stdin=texts).stdout
    assert found == "joy\njoy|😢 sad\n\n"
    found = run("predict", trained[0], "--threshold", "joy=1", "--format", "tsv", stdin=texts)
    assert found.stdout == "\n😢 sad\n\n"
    found = run("predict", trained[0], "--threshold", "0", stdin=texts).stdout
    assert all(json.loads(line)["predicted"] == ["joy", "😢 sad"] for line in found.splitlines())


@pytest.mark.parametrize("value", ["glad=0.5", "joy=x", "2"])
def test_other_thresholds_are_refused(run: Run, trained: tuple[Path, Any], value: str) -> None:
    result = run("predict", trained[0], "--threshold", value, stdin="a\n")
    assert result.exit_code == 1
    assert "threshold" in result.stderr


def test_a_label_that_holds_the_separator_is_no_cell(run: Run, trained: tuple[Path, Any]) -> None:
    options = ("--format", "tsv", "--label-separator", " ", "--threshold", "0")
    result = run("predict", trained[0], *options, stdin="a\n")
    assert result.exit_code == 1
    assert "holds ' '" in result.stderr


def test_explain_shows_every_answer(run: Run, trained: tuple[Path, Any]) -> None:
    said = run("explain", trained[0], "happy tears").stdout
    assert "joy (" in said.splitlines()[0]
    assert "😢 sad (" in said.splitlines()[0]
    assert said.count("(what the model says of no words at all)") == 2
    found = json.loads(run("explain", trained[0], "happy tears", "--json").stdout)
    assert found["predicted"] == ["joy", "😢 sad"]
    assert len(found["thresholds"]) == 2
    said = run("explain", trained[0], "a w1 v1").stdout
    assert said.startswith("none of the labels: ")
