"""The service, asked over HTTP in this process: answers, refusals, headers, counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import adasent
from adasent.errors import AdaSentError
from adasent.estimators.predictor import Predictor
from adasent.explain import explain
from adasent.serve.app import create_app
from adasent.serve.limits import Limits
from adasent.serve.work import Explain

JSON = {"Content-Type": "application/json"}


def post(client: TestClient, texts: object, path: str = "/v1/predict") -> tuple[int, dict]:
    answer = client.post(path, json={"texts": texts})
    return answer.status_code, answer.json()


def test_predictions_are_those_of_the_predictor(client: TestClient, predictor: Predictor) -> None:
    texts = ["I am not happy", "a good film", "<script>alert(1)</script> 😀"]
    status, answer = post(client, texts)
    assert status == 200
    assert answer["classes"] == predictor.classes_.tolist()
    found = answer["predictions"]
    np.testing.assert_allclose(
        [one["probabilities"] for one in found], predictor.predict_proba(texts), atol=1e-6
    )
    assert [one["label"] for one in found] == predictor.predict(texts).tolist()
    assert [one["n_words"] for one in found][:2] == [4, 3]
    assert not any(one["truncated"] for one in found)


def test_a_cut_text_is_said_to_be_cut(client: TestClient) -> None:
    found = post(client, ["good " * 41, "good " * 40])[1]["predictions"]
    assert [(one["n_words"], one["truncated"]) for one in found] == [(41, True), (40, False)]


def test_explanations_are_those_of_the_library(client: TestClient, predictor: Predictor) -> None:
    texts = ["I am not happy", "good"]
    status, answer = post(client, texts, "/v1/explain")
    assert status == 200
    expected = json.loads(json.dumps([found.to_dict() for found in explain(predictor, texts)]))
    for found, wanted in zip(answer["explanations"], expected, strict=True):
        assert found.keys() == wanted.keys() | {"known"}
        assert found["tokens"] == wanted["tokens"]
        np.testing.assert_allclose(found["contributions"], wanted["contributions"], atol=1e-6)


def test_words_that_the_model_does_not_know(client: TestClient) -> None:
    status, answer = post(client, ["Good xyzzy film", "😀", "\x1f"], "/v1/explain")
    assert status == 200
    assert [found["known"] for found in answer["explanations"]] == [
        [True, False, True],
        [False],
        [False],  # no word is read as an unknown one
    ]


def test_many_requests_at_once_get_their_own_answers(
    client: TestClient, predictor: Predictor
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = [" ".join(["good", "bad", "film"][: 1 + i % 3] * (1 + i % 9)) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: post(client, [text])[1], texts))
    found = [answer["predictions"][0]["probabilities"] for answer in answers]
    np.testing.assert_allclose(found, predictor.predict_proba(texts), atol=1e-6)


def test_predictions_do_not_wait_for_explanations(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    explaining, answered = Event(), Event()
    run = Explain.run

    def wait(self: Explain, prepared: Sequence[str]) -> list[str]:
        explaining.set()
        assert answered.wait(20)
        return run(self, prepared)

    monkeypatch.setattr(Explain, "run", wait)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(post, client, ["good"], "/v1/explain")
        assert explaining.wait(20)
        assert post(client, ["good"])[0] == 200
        answered.set()
        assert slow.result()[0] == 200


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/explain"])
def test_a_text_without_a_word_is_one_unknown_word(client: TestClient, path: str) -> None:
    status, answer = post(
        client, ["\x1c"], path
    )  # white space for Python, but not for JSON schemas
    assert status == 200
    (found,) = answer.get("predictions") or answer["explanations"]
    assert found["n_words"] == 0


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 400, 'the body is empty; expected {"texts": ["...", ...]}'),
        (b" \n", 400, 'the body is empty; expected {"texts": ["...", ...]}'),
        (b'{"texts": ["a"', 400, "the body is not JSON: EOF"),
        (b"[" * 100_000, 400, "the body is not JSON: recursion limit"),
        (b'{"texts": ["\xff"]}', 400, "the body is not UTF-8: byte 12 is wrong"),
        (b'{"texts": ["\\ud800"]}', 400, "the body is not JSON"),
        (b"null", 422, 'expected {"texts": ["...", ...]}'),
        (b'["a"]', 422, 'expected {"texts": ["...", ...]}'),
        (b"{}", 422, 'expected {"texts": ["...", ...]}'),
        (b'{"texts": "a"}', 422, 'expected {"texts": ["...", ...]}'),
        (b'{"texts": []}', 422, "expected at least one text, got none"),
        (b'{"texts": ["a", ""]}', 422, "texts[1] is blank; expected a text"),
        (b'{"texts": [" \\t\\n"]}', 422, "texts[0] is blank; expected a text"),
        (b'{"texts": ["a", 3]}', 422, "texts[1]: expected a string"),
        (b'{"texts": [null]}', 422, "texts[0]: expected a string"),
        (b'{"texts": ["a"], "n": 1}', 422, "unknown field 'n'; expected"),
        (json.dumps({"texts": ["a"] * 100_000}).encode(), 413, "expected at most 1000 texts"),
        (json.dumps({"texts": ["a" * 20_001]}).encode(), 413, "texts[0]: expected at most 20000"),
        (
            json.dumps({"texts": ["a" * 10**7]}).encode(),
            413,
            "expected a body of at most 1,048,576",
        ),
    ],
    ids=lambda value: None if isinstance(value, bytes) else str(value)[:40],
)
def test_bad_bodies_are_refused_with_one_line(
    client: TestClient, body: bytes, status: int, reason: str
) -> None:
    for path in ("/v1/predict", "/v1/explain"):
        answer = client.post(path, content=body, headers=JSON)
        error = answer.json()["error"]
        wanted = reason.replace("1000 texts", "16 texts") if path == "/v1/explain" else reason
        assert (answer.status_code, error[: len(wanted)]) == (status, wanted)
        assert "\n" not in error


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_only_json_is_taken(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = client.post("/v1/predict", content=b'{"texts": ["a"]}', headers=headers)
    assert answer.status_code == 415
    assert answer.json() == {"error": "expected the header Content-Type: application/json"}


def test_json_with_a_charset_is_json(client: TestClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = client.post("/v1/predict", content=b'{"texts": ["a"]}', headers=headers)
    assert answer.status_code == 200


def test_what_cannot_be_drawn_is_not_explained(make_client: Callable[..., TestClient]) -> None:
    with make_client(Limits(max_explained_words=5)) as client:
        assert post(client, ["good " * 5], "/v1/explain")[0] == 200
        status, answer = post(client, ["good", "good " * 6], "/v1/explain")
    assert status == 413
    assert answer["error"] == (
        "expected at most 5 words to explain, got 6; /v1/predict takes longer texts"
    )


def test_a_height_lets_longer_texts_be_explained(flat_predictor: Predictor) -> None:
    app = create_app(flat_predictor, "flat", Limits(max_explained_words=20))
    with TestClient(app) as client:  # 20 words without a height cost as much as 52 with one of 4
        assert client.get("/v1/model").json()["limits"]["max_explained_words"] == 52
        status, answer = post(client, ["good " * 52], "/v1/explain")
        assert status == 200
        assert [len(level) for level in answer["explanations"][0]["units"]] == [52, 51, 50, 49]
        status, answer = post(client, ["good " * 53], "/v1/explain")
    assert status == 413
    assert answer["error"].startswith("expected at most 52 words to explain, got 53")


def test_a_full_service_says_when_to_come_back(make_client: Callable[..., TestClient]) -> None:
    with make_client(Limits(max_pending=1)) as client:
        gate = client.app.state.service.gate
        with gate.admit():
            answer = client.post("/v1/predict", json={"texts": ["a"]})
            assert client.get("/healthz").status_code == 200
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert answer.json()["error"].startswith("the service is busy: 1 requests wait already")
        assert post(client, ["a"])[0] == 200


def test_too_many_bytes_at_a_time(make_client: Callable[..., TestClient]) -> None:
    with make_client(Limits(max_pending_bytes=20)) as client:
        assert post(client, ["a"])[0] == 200
        status, answer = post(client, ["a" * 20])
    assert status == 503
    assert "0 bytes wait already" in answer["error"]


def test_model(client: TestClient) -> None:
    found = client.get("/v1/model").json()
    assert found["name"] == "reviews"
    assert found["classes"] == ["negative", "positive", "neither"]
    assert (found["n_texts"], found["max_words"], found["hidden_size"]) == (7, 40, 6)
    assert found["limits"]["max_texts"] == 1000
    assert client.get(found["api"]).headers["Content-Type"].startswith("text/html")


def test_health(make_client: Callable[..., TestClient]) -> None:
    with make_client() as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        client.app.state.service.stopping = True
        answer = client.get("/healthz")
        assert answer.status_code == 503
        assert answer.headers["Connection"] == "close"
    stopped = make_client()
    assert stopped.get("/healthz").json() == {
        "error": "the worker threads have ended; restart the service"
    }


def test_metrics_count_requests_and_texts(make_client: Callable[..., TestClient]) -> None:
    with make_client() as client:
        post(client, ["a", "b"])
        post(client, [])
        client.get("/nowhere/1")
        client.request("ODD", "/nowhere/2")
        answer = client.get("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert 'adasent_requests_total{method="POST",path="/v1/predict",status="200"} 1.0' in lines
    assert 'adasent_requests_total{method="POST",path="/v1/predict",status="422"} 1.0' in lines
    assert 'adasent_requests_total{method="GET",path="other",status="404"} 1.0' in lines
    assert 'adasent_requests_total{method="other",path="other",status="404"} 1.0' in lines
    assert 'adasent_texts_total{path="/v1/predict"} 2.0' in lines
    assert 'adasent_batch_texts_bucket{le="2.0"} 1.0' in lines


@pytest.mark.parametrize("path", ["/", "/docs", "/static/app.js", "/v1/model", "/nowhere"])
def test_nothing_from_elsewhere_may_load(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_pages_are_there_and_self_contained(client: TestClient) -> None:
    for path in ("/", "/docs"):
        page = client.get(path)
        assert page.headers["Content-Type"].startswith("text/html")
        assert "://" not in page.text
        for part in page.text.split('"'):
            if part.startswith("/"):
                assert client.get(part).status_code == 200, part


def test_wrong_paths_and_methods_are_refused_with_one_line(client: TestClient) -> None:
    assert client.get("/nowhere").json() == {"error": "GET /nowhere: Not Found"}
    answer = client.get("/v1/predict")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert client.get("/static/../app.py").status_code == 404


def test_a_failure_of_the_model_is_answered(
    make_client: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflow(self: object, texts: object) -> None:
        raise AdaSentError("the network overflows on these texts")

    monkeypatch.setattr("adasent.runtime.network.Network.probabilities", overflow)
    with make_client() as client:
        status, answer = post(client, ["a"])
        assert (status, answer) == (500, {"error": "the network overflows on these texts"})
        assert client.get("/healthz").status_code == 200


def test_weights_that_overflow_in_parts_of_a_text(model_folder: Path) -> None:
    """What is not finite is no JSON: an error with its reason instead, and the service goes on."""
    broken = adasent.load(model_folder)
    broken.network.projection = broken.network.projection * np.float32(1e37)
    with TestClient(create_app(broken), raise_server_exceptions=False) as client:
        assert post(client, ["a good film"])[0] == 200
        status, answer = post(client, ["a good film"], "/v1/explain")
        assert status == 500
        assert "the network overflows on these texts" in answer["error"]
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("odd", [0.5, "x", [1], True])
def test_what_a_stranger_says_of_the_training(model_folder: Path, odd: object) -> None:
    strange = adasent.load(model_folder)
    strange.training_ = {"n_texts": odd, "examples": odd}
    with TestClient(create_app(strange)) as client:
        assert client.get("/v1/model").json()["n_texts"] is None
