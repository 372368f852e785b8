"""The service, and its page in a browser, of a model that may give a text several labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from adasent.errors import ConfigError
from adasent.estimators.predictor import Predictor
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.serve.app import create_app
from adasent.serve.feedback import FeedbackFile
from adasent.systems.config import AdaSentConfig
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import words
from adasent.text.vocabulary import Vocabulary

CLASSES = ["anger", "joy", "😢"]


@pytest.fixture(scope="module")
def several() -> Predictor:
    """Says joy where happy is, 😢 where tears are, and anger nowhere: gates copy, levels vote."""
    config = AdaSentConfig(
        n_trained=4, n_classes=3, vector_size=2, hidden_size=2, classifier_size=0,
        level_norm=False, multilabel=True,
    )  # fmt: skip
    shapes = {
        "composition.compose_left": (2, 2),
        "composition.compose_right": (2, 2),
        "composition.compose_bias": (2,),
        "composition.gate_left": (3, 2),
        "composition.gate_right": (3, 2),
        "composition.gate_bias": (3,),
        "level_gate.score.weight": (1, 2),
        "level_gate.score.bias": (1,),
    }
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()} | {
        "projection.weight": np.eye(2, dtype=np.float32),
        "classifier.out.weight": np.array([[0, 0], [8, 0], [0, 8]], np.float32),
        "classifier.out.bias": np.array([-4, -2, -2], np.float32),
    }
    table = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], np.float32)
    encoder = TextEncoder(words, Vocabulary(["happy", "tears"]), 40)
    network = Network(config, WordTable.wide(table, table[:0]), tensors)
    return Predictor(network, encoder, np.array(CLASSES), thresholds=np.full(3, 0.5))


def test_predictions_are_lists(several: Predictor) -> None:
    texts = ["happy tears", "happy", "nothing"]
    with TestClient(create_app(several)) as client:
        answer = client.post("/v1/predict", json={"texts": texts}).json()
        found = [one["label"] for one in answer["predictions"]]
        assert found == [["joy", "😢"], ["joy"], []]
        assert found == [list(one) for one in several.predict(texts)]
        (why,) = client.post("/v1/explain", json={"texts": texts[:1]}).json()["explanations"]
        assert why["predicted"] == ["joy", "😢"]
        assert why["thresholds"] == [0.5] * 3
        assert client.get("/v1/model").json()["thresholds"] == [0.5] * 3


def test_feedback_takes_one_label(several: Predictor, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="feedback takes one label a text"):
        create_app(several, feedback=FeedbackFile(tmp_path / "f.csv"))


def test_the_page_shows_every_answer(
    several: Predictor, browser: Any, make_running: Callable[..., Any]
) -> None:
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(make_running(other=several).url)
    page.locator(".card textarea").first.fill("happy tears")
    page.locator(".verdict strong").nth(1).wait_for()
    assert sorted(page.locator(".verdict strong").all_inner_texts()) == ["joy", "😢"]
    headings = page.locator(".reasons h3").all_inner_texts()
    assert {"For joy", "For 😢"} <= set(headings)
    page.locator(".card textarea").first.fill("nothing")
    page.get_by_text("none of the labels").wait_for()
    page.close()
    assert not errors
