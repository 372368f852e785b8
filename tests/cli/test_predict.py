"""Streams of texts through a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from adasent import AdaSentClassifier
from adasent.cli import predict

Run = Callable[..., Result]
TEXTS = ["a good film", "the plot was awful", "superb music"]


def test_jsonl_from_standard_input(run: Run, model: Path) -> None:
    result = run("predict", model, stdin="\n".join(TEXTS))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    expected = AdaSentClassifier.load(model).predict(TEXTS).tolist()
    assert rows == [{"row": i + 1, "label": label} for i, label in enumerate(expected)]
    assert run("predict", model, "-", stdin="\n".join(TEXTS)).stdout == result.stdout


def test_probabilities_in_both_formats(run: Run, model: Path) -> None:
    clf = AdaSentClassifier.load(model)
    expected = clf.predict_proba(TEXTS).round(6)
    stdin = "\n".join(TEXTS)
    lines = run("predict", model, "--proba", stdin=stdin).stdout.splitlines()
    found = [list(json.loads(line)["probabilities"].values()) for line in lines]
    assert found == expected.tolist()
    table = run("predict", model, "--proba", "--format", "tsv", stdin=stdin).stdout.splitlines()
    assert table[0] == "label\tneg\tpos"
    assert [[float(cell) for cell in row.split("\t")[1:]] for row in table[1:]] == expected.tolist()


def test_tsv_has_a_line_a_text_whatever_is_in_it(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    texts = ["tab\there", "line\nbreak", "\x00", "\U0001f600", "plain"]
    data.write_text("".join(json.dumps({"body": t}) + "\n" for t in texts), encoding="utf-8")
    result = run("predict", model, data, "--format", "tsv", "--text", "body")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == len(texts)
    assert set(result.stdout.split()) <= {"pos", "neg"}


def test_chunks_change_nothing_and_odd_texts_are_told_once(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = "\n".join([*TEXTS, "", "good " * 31, "", "end"])
    whole = run("predict", model, stdin=stdin)
    assert whole.stderr == (
        "warning: of 7 texts: 1 longer than max_words=30, cut there; "
        "2 without a word, read as one unknown word\n"
    )
    monkeypatch.setattr(predict, "_CHUNK", 2)
    parts = run("predict", model, stdin=stdin)
    assert parts.stdout == whole.stdout
    assert parts.stderr == whole.stderr


def test_output_comes_before_the_input_ends(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "d.jsonl"
    lines = [json.dumps({"text": "good"})] * 5 + ["broken"]
    data.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(predict, "_CHUNK", 2)
    result = run("predict", model, data)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 4
    assert "line 6: not valid JSON" in result.stderr


def test_nothing_in_nothing_out(run: Run, model: Path) -> None:
    result = run("predict", model, stdin="")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("label", "key", "cell"),
    [
        ("a\tb\\\n", "a\tb\\\n", "a\\tb\\\\\\n"),
        (True, "true", "true"),
        (3, "3", "3"),
        ("\ud800", "\ud800", "\\ud800"),
    ],
)
def test_labels_of_any_kind(label: object, key: str, cell: str) -> None:
    line = predict._json_line(1, label, [1.0], [label])
    assert json.loads(line) == {"row": 1, "label": label, "probabilities": {key: 1.0}}
    assert predict._tsv_line(1, label, None, [label]) == cell + "\n"


def test_a_terminal_without_a_file_is_a_usage_error(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "from adasent.cli import main; main()"
    controller, terminal = os.openpty()
    with os.fdopen(controller), os.fdopen(terminal) as stdin:
        done = subprocess.run(
            [sys.executable, "-c", code, "predict", str(model)],
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "standard input is a terminal" in done.stderr
    assert done.stderr.count("\n") == 1
