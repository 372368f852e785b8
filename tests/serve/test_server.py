"""The service on a real socket: where it listens, and how it stops under load."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import pytest

from adasent.estimators.predictor import Predictor
from adasent.serve import server
from adasent.serve.server import address, is_loopback, listen, serve


def ask(url: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/predict", json={"texts": ["a good film"]}, timeout=20)


def test_accepted_requests_are_answered_when_it_stops(
    make_running: Callable[..., Any], held_up: Event, wait_until: Callable[..., None]
) -> None:
    running = make_running()
    service = running.server._service
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(ask, running.url) for _ in range(12)]
        wait_until(lambda: service.gate.n_requests == 12)
        running.tell_to_stop()
        wait_until(lambda: service.stopping)
        held_up.set()
        answers = [each.result() for each in asked]
    assert [answer.status_code for answer in answers] == [200] * 12


def test_what_cannot_be_answered_in_time_is_told(
    make_running: Callable[..., Any],
    held_up: Event,
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "COMPUTING_SECONDS", 0.1)
    running = make_running()
    gate = running.server._service.gate
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask, running.url) for _ in range(3)]
        wait_until(lambda: gate.n_requests == 3)
        running.tell_to_stop()
        answers = [each.result() for each in asked]
    for answer in answers:
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert answer.json() == {"error": "the service is stopping; try again when it is back"}


def test_serve_says_where_once_it_listens(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    bound: list[str] = []

    def run(self: server.Server, sockets: list[socket.socket]) -> None:
        with socket.create_connection(sockets[0].getsockname(), timeout=5):
            bound.append(address(sockets[0]))

    monkeypatch.setattr(server.Server, "run", run)
    serve(predictor, port=0, ready=said.append)
    assert said == bound
    assert said[0].startswith("http://127.0.0.1:")
    serve(predictor, port=0)  # without anyone to tell
    assert len(bound) == 2


def test_a_port_that_is_taken() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_addresses() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    if socket.has_ipv6:
        try:
            found = listen("::1", 0)
        except OSError:
            pytest.skip("no IPv6 here")
        with found:
            assert address(found).startswith("http://[::1]:")
