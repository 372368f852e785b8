"""Where there is a token, only those who bring it are answered."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from adasent.estimators.predictor import Predictor
from adasent.serve.app import app_of
from adasent.serve.limits import Limits
from adasent.serve.models import Served

TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def guarded(predictor: Predictor) -> Iterator[TestClient]:
    with TestClient(app_of([Served(predictor, "reviews", Limits())], token=TOKEN)) as client:
        yield client


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


PATHS = ["/", "/static/app.js", "/docs", "/openapi.json", "/metrics", "/v1/model", "/nowhere"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "given", [None, "Bearer wrong", f"Bearer {TOKEN}x", basic("no"), "Basic !", TOKEN, "Bearer é"]
)
def test_nothing_is_said_without_it(guarded: TestClient, path: str, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given.encode("utf-8")}
    answer = guarded.get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert "Authorization: Bearer" in answer.json()["error"]


def test_nothing_is_computed_without_it(guarded: TestClient) -> None:
    assert guarded.post("/v1/predict", json={"texts": ["a"]}).status_code == 401


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(TOKEN)])
def test_with_it(guarded: TestClient, given: str) -> None:
    headers = {"Authorization": given}
    assert guarded.get("/", headers=headers).status_code == 200
    answer = guarded.post("/v1/predict", json={"texts": ["a"]}, headers=headers)
    assert answer.status_code == 200


def test_health_is_open(guarded: TestClient) -> None:
    assert guarded.get("/healthz").json() == {"status": "ok"}
