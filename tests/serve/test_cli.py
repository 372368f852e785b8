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


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What ``serve`` was called with; it returns at once, as if stopped by Ctrl-C."""
    calls: list[dict[str, Any]] = []

    def serve(predictor: object, host: str, port: int, **settings: Any) -> None:
        calls.append({"host": host, "port": port})
        calls[-1] |= {name: settings[name] for name in ("name", "feedback")}
        settings["ready"]("http://127.0.0.1:8000")
        raise KeyboardInterrupt

    monkeypatch.setattr("adasent.serve.server.serve", serve)
    return calls


def test_loopback_unless_told_otherwise(served: list[dict[str, Any]], model_folder: Path) -> None:
    result = CliRunner().invoke(app, ["serve", str(model_folder)])
    assert result.exit_code == 0
    assert result.stdout == "reviews: http://127.0.0.1:8000  (Ctrl-C stops)\nstopped\n"
    assert result.stderr == ""
    assert served == [{"host": "127.0.0.1", "port": 8000, "name": "reviews", "feedback": None}]


def test_an_open_host_is_warned_of(served: list[dict[str, Any]], model_folder: Path) -> None:
    args = ["serve", str(model_folder), "--host", "0.0.0.0", "--port", "9"]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: --host 0.0.0.0 lets other machines connect, and there is no login\n"
    )
    assert served == [{"host": "0.0.0.0", "port": 9, "name": "reviews", "feedback": None}]


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
    assert served[0]["feedback"] == Path("wrong.csv")


def test_a_file_that_is_no_feedback_is_refused_before_anything(
    model_folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "reviews.csv"
    other.write_text("text,label\ngood,positive\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["serve", str(model_folder), "--feedback", str(other)])
    assert result.exit_code == 1
    assert "expected a file with the columns text,label,predicted" in result.stderr
    assert other.read_text(encoding="utf-8") == "text,label\ngood,positive\n"
