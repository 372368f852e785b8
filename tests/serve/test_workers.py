"""Several processes at one port: what they count together, and what happens when one dies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from adasent.errors import ConfigError
from adasent.serve import workers
from adasent.serve.workers import check_workers

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


class Service:
    """``adasent serve --workers 2``, as the shell starts it."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder
        self.log = log
        code = "from adasent.cli import main; main()"
        command = [
            sys.executable,
            "-c",
            code,
            "serve",
            str(folder),
            "--port",
            "0",
            "--workers",
            "2",
        ]
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[1]
        while len(self.workers()) < 2:
            assert self.process.poll() is None
            time.sleep(0.01)

    def end(self) -> None:
        """Kill it, if it has not ended."""
        self.process.kill()
        self.process.communicate(timeout=20)

    def workers(self) -> set[int]:
        """The processes below it."""
        pid = self.process.pid
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {int(one) for one in listed}

    def ask(self) -> list[str]:
        """The classes, from whichever process a new connection reaches."""
        answer = httpx.post(f"{self.url}/v1/predict", json={"texts": ["a"]}, timeout=20)
        assert answer.status_code == 200
        found: list[str] = answer.json()["classes"]
        return found

    def counted(self) -> float:
        text = httpx.get(f"{self.url}/metrics", timeout=20).text
        found = re.search(r'adasent_texts_total\{path="/v1/predict"\} (\S+)', text)
        return float(found[1]) if found else 0.0


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, write_model_of: Callable[..., None]
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("workers")
    write_model_of(folder / "model", 40)
    running = Service(folder / "model", folder / "log")
    yield running
    running.end()


def test_they_count_together(service: Service) -> None:
    assert len(service.workers()) == 2
    for _ in range(20):
        service.ask()
    assert [service.counted() for _ in range(5)] == [20] * 5  # whoever is asked
    text = httpx.get(f"{service.url}/metrics", timeout=20).text
    assert "adasent_pending_requests 0.0" in text
    assert "_created" not in text
    assert "pid=" not in text


def test_one_that_dies_is_replaced(service: Service, wait_until: Callable[..., None]) -> None:
    before = service.workers()
    os.kill(min(before), signal.SIGKILL)
    wait_until(lambda: len(service.workers()) == 2 and service.workers() != before)
    for _ in range(8):
        service.ask()
    assert "another takes its place" in service.log.read_text()


def test_all_go_over_to_a_new_model(
    service: Service, write_model_of: Callable[..., None], wait_until: Callable[..., None]
) -> None:
    write_model_of(service.folder, 40, None, ["dull", "sharp"])
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: all(service.ask() == ["dull", "sharp"] for _ in range(8)))
    # So does one that comes later, though the process above has read the old one.
    before = service.workers()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(service.workers() - before) == 2)
    assert all(service.ask() == ["dull", "sharp"] for _ in range(8))


STARTING = """
import signal, sys, time
from pathlib import Path
from socket import socket
from adasent.serve.workers import run_workers

here = Path(sys.argv[1])

def work(socket, end, again):
    (here / "begun").touch()
    while not (here / "on").exists():
        time.sleep(0.01)
    signal.signal(signal.SIGHUP, lambda *_: (here / "told").touch())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    time.sleep(60)

run_workers([socket()], work)
"""


def test_a_process_that_has_just_begun_is_told_too(
    tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    process = subprocess.Popen([sys.executable, "-c", STARTING, str(tmp_path)])
    try:
        wait_until(lambda: (tmp_path / "begun").exists())
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)  # for the one above to pass it on
        (tmp_path / "on").touch()
        wait_until(lambda: (tmp_path / "told").exists())
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def test_they_end_with_the_one_above(service: Service, wait_until: Callable[..., None]) -> None:
    below = service.workers()
    service.end()
    wait_until(lambda: not any(alive(pid) for pid in below))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_told_to_stop(model_folder: Path, tmp_path: Path) -> None:
    service = Service(model_folder, tmp_path / "log")
    below = service.workers()
    service.ask()
    service.process.send_signal(signal.SIGINT)
    said, _ = service.process.communicate(timeout=20)
    assert service.process.returncode == 0
    assert not any(alive(pid) for pid in below)
    assert service.log.read_text() == ""
    assert said == "stopped\n"


def test_other_systems_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    check_workers(2)
    monkeypatch.setattr(workers.sys, "platform", "darwin")
    check_workers(1)
    with pytest.raises(ConfigError, match="only Linux"):
        check_workers(2)
