"""Half requests, heads without an end and too many connections cost little and keep nobody out."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from adasent.serve.limits import Limits

HALF = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: appl"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connect(running: Any) -> socket.socket:
    where = running.socket.getsockname()[:2]
    return socket.create_connection(where, timeout=10)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the service closes the connection."""
    found = b""
    try:
        while part := connection.recv(2**16):
            found += part
    except ConnectionResetError:
        pass
    return found


def reason(answer: bytes, status: int) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), answer
    assert b"connection: close" in head
    found: str = json.loads(body)["error"]
    return found


def healthy(running: Any) -> bool:
    return httpx.get(f"{running.url}/healthz", timeout=10).status_code == 200


@pytest.fixture(scope="module")
def strict(make_running: Callable[..., Any]) -> Any:
    return make_running(Limits(head_seconds=1, body_seconds=1, max_head_bytes=1000))


@pytest.mark.parametrize("ending", [b"", b"\r\n\r\n"], ids=["unfinished", "whole"])
def test_a_head_that_is_too_large(strict: Any, ending: bytes) -> None:
    with connect(strict) as one:
        one.sendall(HALF + 2000 * b"x" + ending)
        assert reason(rest(one), 431) == "expected a head of at most 1,000 bytes"
    assert healthy(strict)


def test_a_head_without_an_end_is_not_kept(strict: Any) -> None:
    """In parts, and after an answer on the same connection."""
    with connect(strict) as one:
        one.sendall(GET)
        assert one.recv(2**16).startswith(b"HTTP/1.1 200")
        one.sendall(HALF)
        with pytest.raises(OSError, match=r"reset|pipe"):  # noqa: PT012
            for _ in range(10_000):
                one.sendall(bytes(2**16).replace(b"\0", b"x"))
            raise AssertionError("it took 640 MB")


def test_fields_after_a_body_are_bounded_too(strict: Any, wait_until: Callable[..., None]) -> None:
    gate = strict.server._service.gate
    with connect(strict) as one:
        one.sendall(HALF + b"ication/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nMore: ")
        wait_until(lambda: gate.n_requests == 1)
        one.sendall(2000 * b"x")
        assert rest(one) == b""


@pytest.mark.parametrize("sent", [b"", HALF, b"\r\n\r\n"], ids=["nothing", "half", "lines"])
def test_a_head_that_does_not_arrive(strict: Any, sent: bytes) -> None:
    with connect(strict) as one:
        one.sendall(sent)
        assert reason(rest(one), 408) == "the head did not arrive in 1 seconds"


def test_bytes_now_and_then_give_no_more_time(strict: Any) -> None:
    with connect(strict) as one:
        one.sendall(GET + HALF)
        one.settimeout(0.3)
        found = b""
        for _ in range(30):
            try:
                part = one.recv(2**16)
            except TimeoutError:
                one.sendall(b"x")
                continue
            if not part:
                break
            found += part
        assert found.startswith(b"HTTP/1.1 200")
        assert b"HTTP/1.1 408" in found


def test_what_is_no_http(strict: Any) -> None:
    with connect(strict) as one:
        one.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert reason(rest(one), 400) == "this is not HTTP"


def test_those_who_wait_longest_make_room(make_running: Callable[..., Any]) -> None:
    running = make_running(Limits(max_connections=3))
    with ExitStack() as stack:
        half = [stack.enter_context(connect(running)) for _ in range(3)]
        for one in half:
            one.sendall(HALF)
        assert healthy(running)
        assert rest(half[0]) == b""  # closed
        half[2].setblocking(False)
        with pytest.raises(BlockingIOError):  # still open
            half[2].recv(1)


def test_no_room_while_all_are_busy(
    make_running: Callable[..., Any], held_up: Event, wait_until: Callable[..., None]
) -> None:
    running = make_running(Limits(max_connections=2))
    gate = running.server._service.gate

    def ask() -> int:
        return httpx.post(
            f"{running.url}/v1/predict", json={"texts": ["a"]}, timeout=20
        ).status_code

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask) for _ in range(2)]
        wait_until(lambda: gate.n_requests == 2)
        answer = httpx.get(f"{running.url}/healthz", timeout=10)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "too many connections" in answer.json()["error"]
        held_up.set()
        assert [each.result() for each in asked] == [200, 200]


def test_nothing_is_computed_for_a_client_that_is_gone(
    make_running: Callable[..., Any], held_up: Event, wait_until: Callable[..., None]
) -> None:
    running = make_running()
    service = running.server._service
    body = b'{"texts": ["a"]}'
    head = HALF + b"ication/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connect(running) as first, connect(running) as second:
        first.sendall(head + body)
        wait_until(lambda: service.gate.n_requests == 1)
        second.sendall(head + body)
        wait_until(lambda: service.gate.n_requests == 2)
        second.close()
        wait_until(lambda: service.gate.n_requests == 1)
        held_up.set()
        assert first.recv(2**16).startswith(b"HTTP/1.1 200")
    counted = service.metrics.texts_of("/v1/predict")._value.get()
    assert counted == 1


def test_a_client_that_does_not_read_is_cut_off(
    strict: Any, caplog: pytest.LogCaptureFixture, wait_until: Callable[..., None]
) -> None:
    connections = strict.server.server_state.connections
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(strict.socket.getsockname())
        one.sendall(1000 * b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: bool(connections))
        wait_until(lambda: not connections)
    assert "did not read its answer" in caplog.text


@pytest.fixture
def few_files(model_folder: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a process that may open few files, and what it writes of errors."""
    resource = pytest.importorskip("resource", reason="no such limit here")
    log = tmp_path / "errors"
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(model_folder), "--port", "0"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)),
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[1], log
        finally:
            process.terminate()
            process.wait(20)


def test_half_requests_with_few_descriptors(few_files: tuple[str, Path]) -> None:
    url, log = few_files
    where = urlsplit(url)
    with ExitStack() as stack:
        for _ in range(300):
            one = socket.create_connection((str(where.hostname), int(where.port or 0)), timeout=10)
            stack.enter_context(one).sendall(HALF)
        for _ in range(3):
            assert httpx.get(f"{url}/healthz", timeout=10).status_code == 200
    assert 0 < log.stat().st_size < 5000
    assert "closed for a new one" in log.read_text()
