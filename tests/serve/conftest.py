"""A small random model as a predictor, and the service around it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import adasent
from adasent.estimators.predictor import Predictor
from adasent.runtime.network import Network
from adasent.saving.model import SavedModel, write_model
from adasent.saving.word_table import WordTable
from adasent.serve.app import create_app
from adasent.serve.feedback import FeedbackFile
from adasent.serve.limits import Limits
from adasent.serve.server import Server, address, listen
from adasent.systems.config import AdaSentConfig
from adasent.text.vocabulary import Vocabulary

WORDS = ["i", "am", "not", "happy", "a", "good", "bad", "film", "the", "plot", "was", "and"]
CLASSES = ["negative", "positive", "neither"]
SIX = [
    "abbreviation or expression",
    "description, definition or reason",
    "entity such as an internationalisation",
    "human being or organisation",
    "location",
    "numeric value",
]
EXAMPLES = [
    {"text": "the plot was bad and bad", "label": "negative"},
    {"text": "I am happy: a good film!", "label": "positive"},
]
MAX_WORDS = 40
HEIGHT = 4


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model with three classes that knows ``WORDS`` and reads ``MAX_WORDS`` words."""
    folder = tmp_path_factory.mktemp("serve") / "reviews"
    write_random(folder, MAX_WORDS)
    return folder


@pytest.fixture(scope="session")
def flat_predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """The same with a height of ``HEIGHT``, which reads long texts."""
    folder = tmp_path_factory.mktemp("serve") / "flat"
    write_random(folder, 2000, HEIGHT)
    return adasent.load(folder)


@pytest.fixture(scope="session")
def binary_predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """One with two classes, which keeps examples, some of them as nobody should write them."""
    folder = tmp_path_factory.mktemp("serve") / "binary"
    odd = [{"text": " ", "label": "negative"}, {"text": "a", "label": "neither"}, "a", {}]
    write_random(
        folder, MAX_WORDS, None, CLASSES[:2], {"n_texts": 7, "examples": [*EXAMPLES, *odd]}
    )
    return adasent.load(folder)


@pytest.fixture(scope="session")
def six_predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """One with six classes of several words, which reads long texts."""
    folder = tmp_path_factory.mktemp("serve") / "six"
    write_random(folder, 100, None, SIX)
    return adasent.load(folder)


@pytest.fixture(scope="session")
def many_predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """One with thirty classes, of which the names are long or odd."""
    folder = tmp_path_factory.mktemp("serve") / "many"
    names = [f"{i} or another of the categories with a name" for i in range(28)]
    odd = ["Donaudampfschifffahrtsgesellschaftskapitän", '<b>bold</b> & "quoted"']
    write_random(folder, 200, None, names + odd, seed=3)
    return adasent.load(folder)


def write_random(
    folder: Path,
    max_words: int,
    height: int | None = None,
    classes: Sequence[str] = CLASSES,
    training: dict[str, Any] | None = None,
    seed: int = 0,
) -> None:
    """Save a model of random weights."""
    rng = np.random.default_rng(seed)
    n_words, size, width, n_classes = len(WORDS) + 2, 6, 5, len(classes)
    config = AdaSentConfig(
        n_trained=n_words,
        n_fixed=0,
        n_classes=n_classes,
        vector_size=width,
        hidden_size=size,
        classifier_size=4,
        max_height=height,
    )

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    tensors = {
        "projection.weight": normal(size, width),
        "composition.compose_left": normal(size, size),
        "composition.compose_right": normal(size, size),
        "composition.compose_bias": normal(size),
        "composition.gate_left": normal(3, size),
        "composition.gate_right": normal(3, size),
        "composition.gate_bias": normal(3),
        "level_norm.weight": normal(size),
        "level_norm.bias": normal(size),
        "level_gate.score.weight": normal(1, size),
        "level_gate.score.bias": normal(1),
        "classifier.hidden.weight": normal(4, size),
        "classifier.hidden.bias": normal(4),
        "classifier.out.weight": normal(n_classes, 4),
        "classifier.out.bias": normal(n_classes),
    }
    table = WordTable.wide(normal(n_words, width), np.empty((0, width), np.float32))
    vocabulary = Vocabulary(WORDS, n_training=n_words)
    saved = SavedModel(
        "adasent",
        config.to_dict(),
        "words",
        max_words,
        np.array(classes),
        vocabulary.to_list(),
        table.to_tensors() | tensors,
        training or {"n_texts": 7},
    )
    write_model(folder, saved)


@pytest.fixture(scope="session")
def write_model_of() -> Callable[..., None]:
    return write_random


@pytest.fixture(scope="session")
def predictor(model_folder: Path) -> Predictor:
    return adasent.load(model_folder)


@pytest.fixture(scope="session")
def make_client(predictor: Predictor) -> Callable[..., TestClient]:
    """A client of a service; errors of the service become answers with status 500."""

    def make(limits: Limits | None = None, feedback: FeedbackFile | None = None) -> TestClient:
        app = create_app(predictor, "reviews", limits, feedback)
        return TestClient(app, raise_server_exceptions=False)

    return make


@pytest.fixture(scope="session")
def client(make_client: Callable[..., TestClient]) -> Iterator[TestClient]:
    """A client of a service with the usual limits."""
    with make_client() as running:
        yield running


class Running:
    """A service that listens on loopback, run by a thread of this process."""

    def __init__(
        self,
        predictor: Predictor,
        limits: Limits | None,
        port: int,
        name: str,
        feedback: FeedbackFile | None,
    ) -> None:
        self.socket = listen("127.0.0.1", port)
        self.url = address(self.socket)
        self.server = Server(create_app(predictor, name, limits, feedback))
        self.thread = Thread(target=self.server.run, args=([self.socket],), daemon=True)

    def start(self) -> None:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def tell_to_stop(self) -> None:
        self.server.should_exit = True

    def stop(self) -> None:
        self.tell_to_stop()
        self.thread.join(20)
        self.socket.close()
        assert not self.thread.is_alive()


@pytest.fixture(scope="session")
def make_running(predictor: Predictor) -> Iterator[Callable[..., Running]]:
    """Start a service; all are stopped in the end."""
    started: list[Running] = []

    def make(
        limits: Limits | None = None,
        port: int = 0,
        other: Predictor | None = None,
        name: str = "reviews",
        feedback: FeedbackFile | None = None,
    ) -> Running:
        running = Running(other or predictor, limits, port, name, feedback)
        running.start()
        started.append(running)
        return running

    yield make
    for running in started:
        running.stop()


@pytest.fixture(scope="session")
def page_service(make_running: Callable[..., Running]) -> Running:
    """A service that explains few words."""
    return make_running(Limits(max_explained_words=30))


@pytest.fixture
def visit(
    browser: Any, page_service: Running, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """Open a page; at the end there must be no error and no request to elsewhere."""
    from page_cases import Visit

    visits: list[Visit] = []

    def make(path: str = "/", url: str | None = None, **context: Any) -> Visit:
        page = browser.new_context(**context).new_page()
        page.set_default_timeout(15_000)
        visits.append(Visit(page, url or page_service.url))
        return visits[-1].open(path)

    yield make
    for each in visits:
        if folder := os.environ.get("ADASENT_SCREENSHOTS"):
            path = Path(folder) / f"{request.node.name}.png"
            each.page.screenshot(path=path, full_page=True)
        each.page.context.close()
        assert each.complaints == []
        assert [url for url in each.requests if not url.startswith(each.url)] == []


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Batches are not computed until this is set; so it is known which requests wait."""
    quick, may_go = Network.probabilities, Event()

    def slow(*args: Any) -> Any:
        assert may_go.wait(20)
        return quick(*args)

    monkeypatch.setattr(Network, "probabilities", slow)
    yield may_go
    may_go.set()


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Wait for what another thread does."""

    def wait(condition: Callable[[], bool]) -> None:
        for _ in range(1000):
            if condition():
                return
            time.sleep(0.01)
        raise AssertionError("it never came to that")

    return wait
