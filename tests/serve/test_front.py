"""Requests have ids, and what is answered by the short way is what FastAPI would answer."""

from __future__ import annotations

import json
import logging
from io import StringIO

import pytest
from fastapi.testclient import TestClient

from adasent.serve.front import HEADERS
from adasent.serve.logs import json_logs


def test_an_id_is_kept_or_made(client: TestClient) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": "a-b_c.1"})
    assert answer.headers["X-Request-ID"] == "a-b_c.1"
    made = {client.get("/healthz").headers["X-Request-ID"] for _ in range(3)}
    assert len(made) == 3


@pytest.mark.parametrize("given", ["", "a b", 65 * "x", "a\tb", '"', "{}"])
def test_an_odd_id_is_not_repeated(client: TestClient, given: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert answer.headers["X-Request-ID"] not in ("", given)


@pytest.mark.parametrize("body", ["{}", '{"texts": ["a"]}', "no"])
@pytest.mark.parametrize("path", ["/v1/predict", "/v1/explain"])
def test_the_short_way_is_no_other_way(client: TestClient, path: str, body: str) -> None:
    """FastAPI is asked behind a path that differs, and leads to the same endpoint."""
    headers = {"Content-Type": "application/json"}
    routes = [one for one in client.app.router.routes if one.path == path]
    client.app.router.add_api_route(f"{path}-long", routes[0].endpoint, methods=["POST"])
    short = client.post(path, content=body, headers=headers)
    long = client.post(f"{path}-long", content=body, headers=headers)
    client.app.router.routes.pop()
    assert (short.status_code, short.json()) == (long.status_code, long.json())
    kept = [*map(str.lower, HEADERS), "content-type", "content-length"]
    assert [short.headers[name] for name in kept] == [long.headers[name] for name in kept]


def test_each_request_is_a_line_of_json(client: TestClient) -> None:
    stream = StringIO()
    with json_logs(stream):
        client.post("/v1/predict", json={"texts": ["a", "b"]}, headers={"X-Request-ID": "mine"})
        client.get("/secret/path?text=private", headers={"X-Request-ID": "other"})
        logging.getLogger("adasent.serve").warning("odd: %s", "a\nb")
        try:
            raise ZeroDivisionError("by nothing")
        except ZeroDivisionError:
            logging.getLogger("uvicorn.error").exception("failed")
    client.get("/healthz")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    predicted, other, odd, failed = lines
    assert predicted.pop("seconds") > 0
    assert predicted.pop("time").endswith("+00:00")
    assert predicted == {
        "level": "info",
        "logger": "adasent.serve.requests",
        "id": "mine",
        "method": "POST",
        "route": "/v1/predict",
        "status": 200,
        "n_texts": 2,
    }
    assert (other["route"], other["status"], other["n_texts"]) == ("other", 404, 0)
    assert (odd["level"], odd["message"]) == ("warning", "odd: a\nb")
    assert "ZeroDivisionError: by nothing" in failed["error"]
    assert "private" not in stream.getvalue()
