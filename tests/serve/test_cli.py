"""``adasent serve``."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from adasent.cli.app import app
from adasent.serve.server import Options


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What ``serve`` was called with; it returns at once, as if stopped by Ctrl-C."""
    calls: list[dict[str, Any]] = []

    def serve(folders: dict[str, Path], host: str, port: int, **settings: Any) -> None:
        calls.append({"folders": folders, "host": host, "port": port, **settings})
        settings["ready"]("http://127.0.0.1:8000")
        raise KeyboardInterrupt

    monkeypatch.setattr("adasent.serve.server.serve_folders", serve)
    return calls


def test_loopback_unless_told_otherwise(served: list[dict[str, Any]], model_folder: Path) -> None:
    result = CliRunner().invoke(app, ["serve", str(model_folder)])
    assert result.exit_code == 0
    assert result.stdout == "reviews: http://127.0.0.1:8000  (Ctrl-C stops)\nstopped\n"
    assert result.stderr == ""
    (call,) = served
    assert (call["folders"], call["host"], call["port"]) == (
        {"reviews": model_folder},
        "127.0.0.1",
        8000,
    )
    assert (call["feedback"], call["options"]) == ({}, Options())


def test_an_open_host_is_warned_of(served: list[dict[str, Any]], model_folder: Path) -> None:
    args = ["serve", str(model_folder), "--host", "0.0.0.0", "--port", "9"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: --host 0.0.0.0 lets other machines connect, and there is no login; "
        "see --token-file and ADASENT_TOKEN\n"
    )
    assert (served[0]["host"], served[0]["port"]) == ("0.0.0.0", 9)


def test_no_model(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["serve", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: expected a model folder")


def test_without_the_extra(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(app, ["serve", str(model_folder)])
    assert result.exit_code == 1
    assert result.stderr == (
        "error: adasent serve needs uvicorn, which is not installed; "
        "run: pip install 'adasent[serve]'\n"
    )


def test_a_process_serves_until_interrupted(model_folder: Path) -> None:
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(model_folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[1]
            answer = httpx.post(f"{url}/v1/predict", json={"texts": ["a"]}, timeout=30)
            other = httpx.get(f"{url}/healthz", headers={"Host": "evil.example"}, timeout=30)
            assert (answer.status_code, other.status_code) == (200, 421)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stdout.read() == "stopped\n"
        finally:
            process.kill()


def test_a_file_for_feedback(served: list[dict[str, Any]], model_folder: Path) -> None:
    args = ["serve", str(model_folder), "--feedback", "wrong.csv"]
    assert CliRunner().invoke(app, args).exit_code == 0
    assert served[0]["feedback"] == {"reviews": Path("wrong.csv")}


def test_several_models_by_name(served: list[dict[str, Any]], model_folder: Path) -> None:
    args = ["serve", f"a={model_folder}", f"b={model_folder}", "--feedback", "b=wrong.csv"]
    result = CliRunner().invoke(app, [*args, "--workers", "2", "--watch", "--log-format", "json"])
    assert result.stdout.startswith("a, b: http")
    (call,) = served
    assert call["folders"] == {"a": model_folder, "b": model_folder}
    assert call["feedback"] == {"b": Path("wrong.csv")}
    assert call["options"] == Options(n_workers=2, watch=True, json_lines=True)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["a=FOLDER", "FOLDER"], "expected NAME=DIR"),
        (["a=FOLDER", "b/c=FOLDER"], "expected NAME=DIR"),
        (["a=FOLDER", "a=FOLDER"], "expected different names, got 'a' twice"),
    ],
)
def test_names_that_are_none(models: list[str], message: str, model_folder: Path) -> None:
    args = [model.replace("FOLDER", str(model_folder)) for model in models]
    result = CliRunner().invoke(app, ["serve", *args])
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_token_from_a_file_or_the_environment(
    served: list[dict[str, Any]],
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    args = ["serve", str(model_folder), "--host", "0.0.0.0"]
    result = CliRunner().invoke(app, [*args, "--token-file", str(file)])
    assert result.stderr == ""  # there is a login
    monkeypatch.setenv("ADASENT_TOKEN", "f" * 20)
    CliRunner().invoke(app, args)
    assert [call["options"].token for call in served] == ["0123456789abcdef", "f" * 20]
    file.write_text("short")
    result = CliRunner().invoke(app, [*args, "--token-file", str(file)])
    assert result.exit_code == 1
    assert "expected at least 16 ASCII characters without a space, got 5" in result.stderr
    assert "short" not in result.stderr


def test_a_file_that_is_no_feedback_is_refused_before_anything(
    model_folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "reviews.csv"
    other.write_text("text,label\ngood,positive\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["serve", str(model_folder), "--feedback", str(other)])
    assert result.exit_code == 1
    assert "expected a file with the columns text,label,predicted" in result.stderr
    assert other.read_text(encoding="utf-8") == "text,label\ngood,positive\n"
