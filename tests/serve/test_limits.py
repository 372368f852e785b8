"""What is unanswered is counted and bounded; bodies that are slow or end early are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request

from adasent.errors import ConfigError
from adasent.serve.limits import Gate, Limits, Refused, read_body, texts_model

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/v1/predict",
    "query_string": b"",
    "headers": [(b"content-type", b"application/json")],
}


def read(receive: Callable[[], Any], limits: Limits) -> list[str]:
    async def whole() -> list[str]:
        with Gate(limits).admit() as admission:
            schema = texts_model(5, 50)
            found = await read_body(Request(SCOPE, receive), schema, limits, admission)
            texts: list[str] = found.texts
            return texts

    return asyncio.run(whole())


def parts(*bodies: bytes) -> Callable[[], Any]:
    """A client that sends a body in parts and then hangs up."""
    messages = [{"type": "http.request", "body": body, "more_body": True} for body in bodies]

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


def test_a_body_may_come_in_parts() -> None:
    async def receive() -> dict[str, Any]:
        body = bodies.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(bodies)}

    bodies = [b'{"texts"', b': ["caf\xc3', b'\xa9"]}']
    assert read(receive, Limits()) == ["café"]


def test_a_slow_body() -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError("never reached")

    with pytest.raises(Refused, match="the body did not arrive in 1 seconds") as refused:
        read(receive, Limits(body_seconds=1))
    assert refused.value.status == 408


def test_a_body_that_ends_early() -> None:
    with pytest.raises(Refused, match="the body ended early"):
        read(parts(b'{"texts"'), Limits())


def test_requests_are_bounded_and_counted_back() -> None:
    gate = Gate(Limits(max_pending=1))
    with gate.admit():
        assert gate.n_requests == 1
        with pytest.raises(Refused, match="busy: 1 requests wait") as refused, gate.admit():
            pass
        assert (refused.value.status, refused.value.retry_after) == (503, 1)
        assert gate.n_requests == 1
    assert gate.n_requests == 0


def test_bytes_are_bounded_over_all_requests() -> None:
    gate = Gate(Limits(max_pending_bytes=10))
    with gate.admit() as first, gate.admit() as second:
        first.take(6)
        with pytest.raises(Refused, match="6 bytes wait"):
            second.take(5)
        second.take(4)
        assert gate.n_bytes == 10
    assert gate.n_bytes == 0


def test_a_failed_request_is_counted_back() -> None:
    gate = Gate(Limits(max_pending_bytes=3))
    with pytest.raises(Refused), gate.admit() as admission:
        admission.take(4)
    assert (gate.n_requests, gate.n_bytes) == (0, 0)


def test_limits_are_checked() -> None:
    with pytest.raises(ConfigError, match="max_texts must be a whole number of at least 1"):
        Limits(max_texts=0)
