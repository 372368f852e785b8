"""Several models by name, and a model that takes the place of another."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from adasent.estimators.predictor import Predictor
from adasent.serve import reload
from adasent.serve.app import app_of
from adasent.serve.feedback import FeedbackFile
from adasent.serve.limits import Limits
from adasent.serve.models import Served
from adasent.serve.reload import ModelFolder, Reloader
from adasent.serve.server import Server, address, listen

OTHER = ["dull", "sharp"]


@pytest.fixture(scope="module")
def two(
    predictor: Predictor, binary_predictor: Predictor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    """A model with three classes, and one with two that takes labels put right."""
    kept = FeedbackFile(tmp_path_factory.mktemp("feedback") / "second.csv")
    models = [
        Served(predictor, "first", Limits()),
        Served(binary_predictor, "second", Limits(), kept),
    ]
    with TestClient(app_of(models)) as client:
        yield client


def test_each_answers_by_its_name(two: TestClient) -> None:
    body = {"texts": ["a good film"]}
    for what in ("predict", "explain"):
        plain, first, second = (
            two.post(f"/v1{below}/{what}", json=body).json()
            for below in ("", "/models/first", "/models/second")
        )
        assert plain == first
        assert first != second
    names = [one["name"] for one in two.get("/v1/models").json()["models"]]
    assert names == ["first", "second"]
    assert two.get("/v1/models/second").json()["name"] == "second"
    assert two.get("/v1/model").json()["name"] == "first"


def test_a_name_that_is_none(two: TestClient) -> None:
    assert two.post("/v1/models/third/predict", json={"texts": ["a"]}).status_code == 404


def test_labels_put_right_belong_to_a_model(two: TestClient) -> None:
    body = {"text": "a good film", "label": "negative"}
    assert two.post("/v1/models/second/feedback", json=body).status_code == 200
    assert two.post("/v1/models/first/feedback", json=body).status_code == 404
    assert two.post("/v1/feedback", json=body).status_code == 404


def test_they_are_counted_by_name(two: TestClient) -> None:
    two.post("/v1/models/second/predict", json={"texts": ["a", "b"]})
    text = two.get("/metrics").text
    assert 'adasent_texts_total{path="/v1/models/second/predict"}' in text


def test_all_paths_are_described(two: TestClient) -> None:
    paths = two.get("/openapi.json").json()["paths"]
    assert {"/v1/models/first/predict", "/v1/models/second/feedback"} <= paths.keys()


class Reloading:
    """A service of a folder that may be replaced."""

    def __init__(self, folder: Path, feedback: FeedbackFile) -> None:
        self.folder = ModelFolder(folder)
        served = Served(self.folder.open(), "model", Limits(), feedback)
        self.socket = listen("127.0.0.1", 0)
        self.url = address(self.socket)
        self.server = Server(app_of([served]), {"model": self.folder}, watch=True)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)

    def classes(self) -> list[str]:
        found: list[str] = httpx.get(f"{self.url}/v1/model", timeout=20).json()["classes"]
        return found


@pytest.fixture
def reloading(
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., None],
) -> Iterator[Reloading]:
    monkeypatch.setattr(reload, "_SECONDS", 0.05)
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    running = Reloading(folder, FeedbackFile(tmp_path / "wrong.csv"))
    running.thread.start()
    wait_until(lambda: running.server.started)
    yield running
    running.server.should_exit = True
    running.thread.join(20)
    assert not running.thread.is_alive()
    running.socket.close()


def test_a_folder_that_is_replaced(
    reloading: Reloading,
    held_up: Event,
    write_model_of: Callable[..., None],
    wait_until: Callable[..., None],
) -> None:
    """Requests on their way end on the old model, later ones are for the new."""

    def ask(what: str, body: dict[str, Any]) -> httpx.Response:
        return httpx.post(f"{reloading.url}/v1/{what}", json=body, timeout=20)

    gate = reloading.server._service.gate
    with ThreadPoolExecutor(1) as pool:
        old = pool.submit(ask, "predict", {"texts": ["a good film"]})
        wait_until(lambda: gate.n_requests == 1)
        # The new model is tried before it is taken, which waits for the same event: so the old
        # request may end only when the new folder is there.
        write_model_of(reloading.folder.path, 40, None, OTHER)
        held_up.set()
        assert len(old.result().json()["classes"]) == 3
    wait_until(lambda: reloading.classes() == OTHER)
    assert ask("predict", {"texts": ["a"]}).json()["classes"] == OTHER
    assert ask("feedback", {"text": "a", "label": "dull"}).status_code == 200
    described = httpx.get(f"{reloading.url}/openapi.json", timeout=20).json()
    body = described["paths"]["/v1/feedback"]["post"]["requestBody"]["content"]
    assert body["application/json"]["schema"]["properties"]["label"]["enum"] == OTHER


def test_a_broken_folder_is_refused(
    reloading: Reloading,
    write_model_of: Callable[..., None],
    wait_until: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = reloading.folder.path / "config.json"
    config.write_text("{}")
    wait_until(lambda: "kept the old model" in caplog.text)
    assert len(reloading.classes()) == 3
    assert httpx.post(f"{reloading.url}/v1/predict", json={"texts": ["a"]}).status_code == 200
    write_model_of(reloading.folder.path, 40, None, OTHER)
    wait_until(lambda: reloading.classes() == OTHER)
    assert caplog.text.count("kept the old model") == 1


def test_a_signal(model_folder: Path, tmp_path: Path, write_model_of: Callable[..., None]) -> None:
    """In the main thread, where signals arrive."""
    import asyncio

    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    opened = ModelFolder(folder)
    app = app_of([Served(opened.open(), "model", Limits())])
    api = app.state.service.first

    async def scene() -> None:
        reloader = Reloader({"model": api}, {"model": opened}, watch=False)
        reloader.start()
        done = asyncio.Event()
        api.replaced.append(done.set)
        write_model_of(folder, 40, None, OTHER)
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(20):
            await done.wait()
        reloader.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)

    asyncio.run(scene())
    assert api.served.predict.classes == OTHER
