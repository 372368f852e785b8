"""Why a text got its label, on the screen and in files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from adasent import load
from adasent.cli import explain as command
from adasent.explain import Explanation, explain
from adasent.explain.reading import read_for

Run = Callable[..., Result]
TEXT = "a good film and the plot was awful"


def test_the_screen_shows_verdict_words_phrases_and_lengths(run: Run, model: Path) -> None:
    result = run("explain", model, TEXT)
    assert result.exit_code == 0, result.stderr
    found = explain(load(model), TEXT)
    lines = result.stdout.splitlines()
    assert lines[0] == found.verdict
    for word in TEXT.split():
        assert word in lines[2]
    # Without colours, scores stand beside the words.
    best = int(found.probabilities.argmax())
    assert f"[{np.abs(found.words[:, best]).max():.2f}"[1:] in lines[2]
    ends = f"from {found.base[best]:.4f} to {found.probabilities.max():.4f}"
    assert f"phrases and lengths each add up {ends}" in lines
    assert lines[-1] == f"scores of words: {found.method}"
    assert found.phrases[0].text in result.stdout
    shown = [line.split()[0] for line in lines if line.strip().startswith(("+", "-"))]
    assert "+0.00" not in shown
    listed = [float(value) for value in shown if len(value) == len("+0.00")]
    assert found.base[best] + sum(listed) == pytest.approx(found.probabilities.max(), abs=0.05)


def test_json_is_the_explanation(run: Run, model: Path) -> None:
    found = Explanation.from_json(run("explain", model, TEXT, "--json").stdout)
    assert found.text == TEXT
    assert found.predicted == load(model).predict([TEXT])[0]


def test_a_method_can_be_chosen(run: Run, model: Path) -> None:
    result = run("explain", model, TEXT, "--json", "--method", "fast")
    expected = explain(load(model), TEXT, method="fast")
    assert json.loads(result.stdout)["words"] == expected.words.tolist()
    shown = run("explain", model, TEXT, "--method", "fast").stdout
    assert shown.rstrip().endswith(f"scores of words: {expected.method}")


def test_files(run: Run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = {option: tmp_path / "new" / f"why.{option}" for option in ("html", "png", "svg")}
    options = [word for name, path in names.items() for word in (f"--{name}", path)]
    result = run("explain", model, TEXT, *options, "--contrast", "neg", "pos", "--dark")
    assert (result.exit_code, result.output) == (0, "")
    assert "neg rather than pos" in names["html"].read_text(encoding="utf-8")
    assert "neg rather than pos" in names["svg"].read_text(encoding="utf-8")
    assert names["png"].read_bytes().startswith(b"\x89PNG")
    again = run("explain", model, TEXT, "--html", names["html"])
    assert again.exit_code == 1
    assert "is there already; add --force" in again.stderr
    assert run("explain", model, TEXT, "--html", names["html"], "--force").exit_code == 0
    wrong = run("explain", model, TEXT, "--png", tmp_path / "why.jpg")
    assert "expected a file name that ends in .png" in wrong.stderr


def test_contrast(run: Run, model: Path) -> None:
    result = run("explain", model, TEXT, "--contrast", "neg", "pos")
    assert result.stdout.startswith("neg rather than pos, ")
    wrong = run("explain", model, TEXT, "--contrast", "neg", "meh")
    assert wrong.exit_code == 1
    assert "expected two of the labels neg, pos, got 'meh'" in wrong.stderr


def test_escape_codes_do_not_reach_the_terminal(run: Run, model: Path) -> None:
    result = run("explain", model, "\x1b[31mgood\x07\tfilm\nplot")
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    assert "31mgood" in result.stdout


def test_a_long_text_is_shown_in_short(run: Run, model: Path) -> None:
    result = run("explain", model, "good film " * 20)
    assert "(only the first 30 of 40 words were read)" in result.stdout
    assert "and 10 greater lengths, +" in result.stdout
    assert "cut there" in result.stderr


def test_json_of_a_long_text_leaves_the_pyramid_out(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_MAX_JSON_WORDS", 2)
    result = run("explain", model, "a good film", "--json")
    assert json.loads(result.stdout)["units"] == []
    assert "3 words, more than 2: gates, spans and units are left out" in result.stderr


@pytest.mark.parametrize("color", [True, False])
def test_colours_on_a_terminal(model: Path, monkeypatch: pytest.MonkeyPatch, color: bool) -> None:
    from rich.console import Console

    monkeypatch.setattr(command, "console", lambda: Console(force_terminal=color))
    found = explain(load(model), TEXT)
    shown = command._words(found, read_for(found))
    assert ("[" not in shown.plain) == color
    styles = {str(span.style) for span in shown.spans}
    assert any(style.startswith("#ffffff on #") for style in styles)


def test_labels_that_are_not_strings(model: Path) -> None:
    values = explain(load(model), "good").to_dict()
    values["classes"] = [0, 1]
    assert command._label(Explanation.from_dict(values), "1") == 1


def test_json_of_the_command_can_be_read_anywhere(run: Run, model: Path) -> None:
    line = run("explain", model, "a \U0001f600", "--json").stdout
    assert json.loads(line)["text"] == "a \U0001f600"
    assert line.isascii()


def test_without_a_model_the_starter_is_asked_and_named() -> None:
    code = "from adasent.cli import main; main()"
    args = [sys.executable, "-c", code, "explain", "not a bad film"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "no model named: asked is the starter model, film reviews in English (adasent try)\n"
    )
    assert done.stdout.startswith(f"{explain(load('starter'), 'not a bad film').verdict}\n")


def test_the_starter_is_a_model_like_any(run: Run) -> None:
    named = run("explain", "starter", "lacks wit", "--json")
    assert named.stderr == ""
    assert run("explain", "lacks wit", "--json").stdout == named.stdout
    found = json.loads(run("predict", "starter", "lacks wit").stdout)
    assert (found["text"], found["predicted"]) == ("lacks wit", "negative")


def test_a_text_from_standard_input(run: Run, model: Path) -> None:
    assert run("explain", model, stdin=f"{TEXT}\n").stdout == run("explain", model, TEXT).stdout
    nothing = run("explain", model, stdin="")
    assert nothing.exit_code == 2
    assert "is a model, and there is no TEXT to explain" in nothing.stderr
    assert "no TEXT to explain" in run("explain").stderr


@pytest.mark.parametrize("given", ["models/mine", "./mine", "~/mine"])
def test_a_folder_that_is_not_there_is_no_text(run: Run, given: str) -> None:
    result = run("explain", given)
    assert result.exit_code == 1
    assert f"there is no folder {given}. If it is a text" in result.stderr


@pytest.mark.parametrize("given", ["good", "good/bad film", "... and then it ends"])
def test_texts_that_are_written_a_little_like_folders(run: Run, given: str) -> None:
    assert run("explain", given).exit_code == 0
