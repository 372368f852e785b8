"""Global options, the shape of errors and warnings, and what is imported when."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import adasent
from adasent.cli import console, data
from adasent.errors import AdaSentWarning

Run = Callable[..., Result]
COMMANDS = [
    ["train"], ["teach"], ["evaluate"], ["crossval"], ["sweep"], ["predict"], ["systems"],
    ["explain"], ["try"],
    ["data", "list"], ["data", "get"], ["data", "stats"], ["data", "audit"],
    ["vectors", "train"], ["vectors", "distill"], ["vectors", "info"],
]  # fmt: skip


def test_help_does_not_import_heavy_modules() -> None:
    code = (
        "import sys\n"
        "from adasent.cli import main\n"
        "sys.argv = ['adasent', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'torch', 'sklearn', 'gensim', 'scipy', 'pandas', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "crossval" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_every_command_shows_an_example(run: Run, command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert f"  adasent {' '.join(command)}" in result.stdout


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"adasent {adasent.__version__}\n"


@pytest.mark.parametrize("args", [[], ["data"], ["vectors"]])
def test_no_command_shows_help_and_no_error_line(run: Run, args: list[str]) -> None:
    result = run(*args)
    assert "Usage" in result.stdout
    assert "error" not in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["train", "x"], "Missing option '--out'"),
        (["predict", "m", "--format", "xml"], "xml"),
        (["evaluate", "m", "d", "--splitt", "test"], "--splitt"),
        (["trane"], "trane"),
    ],
)
def test_usage_errors_are_one_line_and_code_2(run: Run, args: list[str], words: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert "--help" in result.stderr


def test_errors_are_one_line_and_code_1(run: Run) -> None:
    result = run("data", "get", "TRECK")
    assert result.exit_code == 1
    assert result.stderr == "error: unknown data set 'TRECK'; did you mean 'TREC'?\n"


@pytest.mark.parametrize(
    "args", [["--debug", "data", "get", "no"], ["data", "get", "no", "--debug"]]
)
def test_debug_shows_the_traceback_wherever_it_stands(run: Run, args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_os_errors_name_the_file(run: Run, model: Path, tmp_path: Path) -> None:
    result = run("vectors", "train", tmp_path, "--out", tmp_path / "v.bin")
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path}: Is a directory\n"


def test_ctrl_c_is_code_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(data, "_kind", interrupt)
    result = run("data", "list")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


def test_warnings_look_alike(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def kind(_: object) -> str:
        warnings.warn("ours", AdaSentWarning, stacklevel=1)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("theirs", UserWarning, stacklevel=1)
        return "texts"

    monkeypatch.setattr(data, "_kind", kind)
    lines = run("data", "list").stderr.splitlines()
    assert lines.count("warning: ours") == 1  # one line, though it came for every row
    assert any("UserWarning: theirs" in line for line in lines)


def test_a_closed_pipe_ends_quietly() -> None:
    code = "from adasent.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "data", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_it_runs_as_a_module() -> None:
    words = [sys.executable, "-m", "adasent", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["adasent", adasent.__version__])


def test_pipes_are_wide_unless_columns_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console.console().width == 200
    monkeypatch.setenv("COLUMNS", "80")
    assert console.console().width == 80
