"""What comes out of files cannot steer the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adasent.cli.console import console, printable, say, table

Run = Callable[..., Any]
FAMILY = "\U0001f468\u200d\U0001f469 na\xefve\xa0\u3000"  # joined emoji, and other spaces


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\tb\r\nc", "a\\tb\\r\\nc"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202edef", "abc\\u202edef"),
        ("half \ud800", "half \\ud800"),
        (
            "\U0001f468\u200d\U0001f469 na\xefve\xa0\u3000",
            "\U0001f468\u200d\U0001f469 na\xefve\xa0\u3000",
        ),
    ],
)
def test_control_characters_are_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    say("one\ntwo\t\x1b[2J")
    made = table("class", ">\x1b[1mn")
    made.add_row("\x1b]0;title\x07", "1")
    console().print(made)
    said = capsys.readouterr().out
    assert said.startswith("one\ntwo\t\\x1b[2J\n")
    assert "\x1b" not in said
    assert "\x07" not in said


def test_labels_of_a_file(run: Run, tmp_path: Path) -> None:
    data, out = tmp_path / "d.jsonl", tmp_path / "m"
    labels = ["\x1b[31mred", "b\x07"]
    rows = [
        {"text": f"{['good', 'bad'][i % 2]} film {i}", "label": labels[i % 2]} for i in range(20)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("train", data, "--out", out, "--system", "mnb").exit_code == 0
    for command in (
        ("evaluate", out, data),
        ("data", "audit", data),
        ("crossval", data, "--system", "mnb", "--folds", 2),
        ("predict", out, data, "--format", "tsv"),
        ("predict", out, "good film"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "red" in result.stdout or command[0] == "data"
        assert "\x1b" not in result.output, command
        assert "\x07" not in result.output, command


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([0.5, 1.5], "got 0.5; turn numbers into classes"),
        ([10**30, 1], "must fit into 64 bits"),
        ([2**70, 2**71], "must fit into 64 bits"),
        (["a", "a\0"], "end in a NUL character"),
    ],
)
@pytest.mark.parametrize("system", ["adasent", "mnb"])
def test_labels_that_cannot_be(
    run: Run, tmp_path: Path, system: str, labels: list[Any], complaint: str
) -> None:
    data = tmp_path / "d.jsonl"
    rows = [{"text": f"text {i}", "label": labels[i % 2]} for i in range(20)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("train", data, "--out", tmp_path / "m", "--system", system)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert complaint in result.stderr
