"""The service answers to its own names, so that no other site reads it through a browser."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from adasent.estimators.predictor import Predictor
from adasent.serve.app import create_app
from adasent.serve.hosts import bare, names_of


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("localhost:8000", "localhost"),
        ("LOCALHOST.", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]:8000", "[::1]"),
        ("[::1]", "[::1]"),
        ("evil.example:80", "evil.example"),
        ("[broken", "[broken"),
        ("", ""),
    ],
)
def test_a_host_without_its_port(given: str, name: str) -> None:
    assert bare(given) == name


def test_names_of_a_service() -> None:
    loopback = {"localhost", "127.0.0.1", "[::1]"}
    assert names_of("127.0.0.1", loopback=True, allowed=[]) == loopback
    assert names_of("::1", loopback=True, allowed=["box.lan"]) == loopback | {"box.lan"}
    assert names_of("0.0.0.0", loopback=False, allowed=[]) is None
    assert names_of("10.0.0.7", loopback=False, allowed=["Box.lan:80"]) == {"10.0.0.7", "box.lan"}


@pytest.mark.parametrize("path", ["/", "/v1/model", "/static/app.js", "/metrics"])
def test_other_names_are_refused_everywhere(predictor: Predictor, path: str) -> None:
    names = names_of("127.0.0.1", loopback=True, allowed=["box.lan"])
    app = create_app(predictor, "reviews", names=names)
    with TestClient(app, base_url="http://localhost:8000") as client:
        assert client.get(path).status_code == 200
        assert client.get(path, headers={"Host": "box.lan:8000"}).status_code == 200
        for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "x" * 5000):
            refused = client.get(path, headers={"Host": host})
            assert refused.status_code == 421
            assert "--allow-host" in refused.json()["error"]
            assert len(refused.content) < 500
            assert refused.headers["X-Content-Type-Options"] == "nosniff"
