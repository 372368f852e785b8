"""The newcomer's path: a file as spreadsheets write it, one command, an answer with its reasons."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def spreadsheet(tmp_path_factory: pytest.TempPathFactory, reviews: Any) -> Path:
    """Semicolons, a byte order mark, Windows line ends, quotes, and one row without a label."""
    rows = [f'"{text}; so far";{label}' for text, label in zip(*reviews, strict=True)]
    rows[7] = '"a film nobody has labelled";'
    path = tmp_path_factory.mktemp("newcomer") / "survey.csv"
    path.write_bytes(("\ufeff" + "\r\n".join(["Comment;Sentiment", *rows, ""])).encode())
    return path


def test_from_a_spreadsheet_to_a_reason(
    run: Run, spreadsheet: Path, minilm_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADASENT_VECTORS", str(minilm_wheel))  # what auto then stands for
    out = spreadsheet.parent / "model"

    refused = run("train", spreadsheet, "--out", out)
    assert refused.exit_code == 1
    assert "1 without a label in 'Sentiment'" in refused.stderr
    assert "--skip-missing" in refused.stderr

    done = run("train", spreadsheet, "--out", out, "--skip-missing", "--epochs", "8")
    assert done.exit_code == 0, done.output
    assert "text from 'Comment', label from 'Sentiment'" in done.stderr
    assert "119 texts, 2 classes" in done.stdout
    assert "1 of 120 rows skipped" in done.output
    assert "macro F1" in done.stdout
    assert "minilm (auto)" in done.stdout
    assert "adasent explain" in done.stdout

    # The command of the hint, as it stands there.
    text = "the plot was awful; so far"
    answer = json.loads(run("predict", out, text).stdout)
    assert answer["predicted"] == "neg"
    said = run("explain", out, text)
    assert said.exit_code == 0
    assert said.stdout.startswith("neg (")
    assert "awful" in said.stdout.splitlines()[0]
