"""The page with the model that comes with the package."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest
from typer.testing import Result

from adasent.cli import try_ as command

Run = Callable[..., Result]
ADDRESS = "http://127.0.0.1:1"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was to open, on a machine with a display; the page ends at once."""
    found: list[str] = []

    def serve(predictor: object, host: str, port: int, **settings: object) -> None:
        ready = settings["ready"]
        assert callable(ready)
        assert (host, port, settings["name"]) == ("127.0.0.1", 0, "film reviews")
        ready(ADDRESS)
        raise KeyboardInterrupt

    monkeypatch.setattr("adasent.serve.server.serve", serve)
    monkeypatch.setattr("webbrowser.open", found.append)
    monkeypatch.setattr(command, "_has_display", lambda: True)
    return found


def test_it_opens_the_page(run: Run, opened: list[str]) -> None:
    result = run("try")
    assert result.exit_code == 0
    assert opened == [ADDRESS]
    first, second, last = result.stdout.splitlines()
    assert first == f"the starter model, film reviews in English: {ADDRESS}  (Ctrl-C stops)"
    assert second.endswith("adasent try --card")
    assert last == "stopped"


def test_it_opens_nothing_where_nobody_would_see_it(
    run: Run, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("try", "--no-browser").exit_code == 0
    monkeypatch.setattr(command, "_has_display", lambda: False)
    assert ADDRESS in run("try").stdout
    assert opened == []


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "1"}, False),
    ],
)
def test_displays(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert command._has_display() == expected


def test_without_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("try")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: adasent try needs uvicorn, which is not installed; "
        "run: pip install 'adasent[serve]'\n"
    )


def test_the_card(run: Run) -> None:
    result = run("try", "--card")
    assert result.exit_code == 0
    assert "The starter model" in result.stdout
    assert "95 % interval" in result.stdout


def test_a_process_answers_until_interrupted() -> None:
    code = "from adasent.cli import main; main()"
    args = [sys.executable, "-c", code, "try", "--no-browser"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split(": ")[1].split()[0]
            page = httpx.get(url, timeout=30)
            assert page.status_code == 200
            answer = httpx.post(f"{url}/v1/explain", json={"texts": ["not a bad film"]}, timeout=30)
            assert answer.status_code == 200
            assert answer.json()["explanations"][0]["predicted"] == "positive"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
