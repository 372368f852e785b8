"""What comes out of files cannot steer the terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adasent.cli.console import console, printable, say, table
from adasent.cli.outputs import open_target
from adasent.cli.to_label import ToLabel, file_to_label

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


def test_labels_of_a_file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data, out, other = tmp_path / "d.jsonl", tmp_path / "m", tmp_path / "n"
    labels = ["\x1b[31mred", "b\x07"]
    rows = [
        {"text": f"{['good', 'bad'][i % 2]} film {i}", "label": labels[i % 2]} for i in range(20)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for folder in (out, other):
        assert run("train", data, "--out", folder, "--system", "mnb").exit_code == 0
    for command in (
        ("evaluate", out, data),
        ("data", "audit", data),
        ("data", "stats", f"./{data.relative_to(Path.cwd())}"),
        ("compare", out, other, "--data", data),
        ("crossval", data, "--system", "mnb", "--folds", 2),
        ("predict", out, data, "--format", "tsv"),
        ("predict", out, "good film"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "red" in result.stdout or command[0] in ("data", "compare")
        assert "\x1b" not in result.output, command
        assert "\x07" not in result.output, command


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([2**63, 1], "must fit into 64 bits"),
        ([1e308, 1.0], "must fit into 64 bits"),
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


def test_labels_of_a_model_that_shows_its_pyramid(
    run: Run, tmp_path: Path, settings: Callable[..., list[str]]
) -> None:
    data, out = tmp_path / "d.jsonl", tmp_path / "m"
    labels = ["\x1b[31mred", "b\x07"]
    rows = [{"text": f"{['good', 'bad'][i % 2]} film", "label": labels[i % 2]} for i in range(20)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("train", data, "--out", out, "--quiet", *settings()).exit_code == 0
    for command in (
        ("profile", out, data),
        ("explain", out, "a \x1b[2Jgood film"),
        ("explain", out, "film", "--contrast", "x\x1b[1m", "y"),  # an error that lists the labels
        ("train", data, "--out", tmp_path / "x", "--text", "x\x1b[1m"),
    ):
        result = run(*command)
        assert result.exit_code == ("x\x1b[1m" in command)
        assert "\\x1b" in result.output or command[0] == "profile"
        assert "\x1b" not in result.output, command
        assert "\x07" not in result.output, command


def test_what_is_printed_by_any_way(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for one in ("a\x1b[2J", Text("b\x1b[2J \ud800"), Padding.indent("c\x1b[2J", 2)):
        console().print(one)
        console(stderr=True).print(one)
    for said in capsys.readouterr():
        assert said.startswith("a\\x1b[2J\nb\\x1b[2J \\ud800\n")
        assert "\x1b" not in said


def test_answers_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data are as they are in a file or pipe; on a terminal they cannot steer it."""
    said = io.BytesIO()
    for is_terminal, expected in ((False, "\x1b[31mred,é\n"), (True, "\\x1b[31mred,é\n")):
        said.seek(0)
        screen = io.TextIOWrapper(said, encoding="utf-8")
        monkeypatch.setattr(screen, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr("sys.stdout", screen)
        with open_target(None) as stream:
            stream.write("\x1b[31mred,é\n".encode())
            stream.flush()
        with file_to_label(None) as writer:
            writer.write([ToLabel("\x1b", "b", 0.5, 0)])
        screen.detach()
        assert said.getvalue().decode().startswith(expected)
        assert (b"\x1b" in said.getvalue()) == (not is_terminal)


def test_a_screen_without_the_letters(tmp_path: Path) -> None:
    code = "from adasent.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "explain", f"{tmp_path}/no\u2603"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "/no\\u2603" in done.stderr
    assert len(done.stderr.splitlines()) == 1
