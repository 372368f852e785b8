"""A page in one file that is open in a browser, and what its worker says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from adasent.estimators.predictor import Predictor

#: Of probabilities, and of all parts of an explanation but the scores of drawn parts.
TOLERANCE = 1e-5
#: Of scores of words that come of drawn parts: a fit of answers that are off by the above.
DRAWN_TOLERANCE = 1e-4

# A worker of the page, asked without its controls.
ASK = """async ([kind, values]) => {
  const held = (id) => document.getElementById(id).textContent;
  if (!window.asked) {
    window.asked = new Worker(URL.createObjectURL(new Blob([held("held-worker")])));
    window.asked.postMessage({ model: held("held-model"), weights: held("held-weights") });
  }
  const found = [];
  for (const [id, value] of values.entries()) {
    const answer = new Promise((resolve) => {
      window.asked.onmessage = ({ data }) => resolve(data);
    });
    window.asked.postMessage({ id, kind, value });
    const { error, value: said } = await answer;
    found.push(error ?? said);
  }
  return JSON.stringify(found);
}"""


class OpenFile:
    """A file that is open without a network, and what the browser complained of meanwhile."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.context = browser.new_context(offline=True, **context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def close(self) -> None:
        """Nothing may have been complained of, nor asked of anybody."""
        self.context.close()
        assert self.complaints == []
        own = ("file://", "blob:", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []

    def ask(self, kind: str, values: list[Any]) -> list[Any]:
        """What the worker says to each of some pieces of work."""
        found: list[Any] = json.loads(self.page.evaluate(ASK, [kind, values]))
        return found

    def predict(self, texts: list[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("predict", [texts])[0]
        return found

    def explain(self, texts: list[str]) -> list[dict[str, Any]]:
        return self.ask("explain", texts)


def check_predictions(opened: OpenFile, model: Predictor, texts: list[str]) -> None:
    """The page says of each text what Python says."""
    found = opened.predict(texts)
    probabilities = np.array([one["probabilities"] for one in found])
    np.testing.assert_allclose(probabilities, model.predict_proba(texts), rtol=0, atol=TOLERANCE)
    labels = [
        tuple(one["label"]) if model.thresholds_ is not None else one["label"] for one in found
    ]
    assert labels == model.predict(texts).tolist()


def check_explanation(found: dict[str, Any], model: Predictor) -> None:
    """Every part of an explanation of the page is Python's, and the parts add up."""
    expected = model.explain(found["text"]).to_dict()
    n_classes = len(expected["classes"])
    for key in (
        "tokens",
        "classes",
        "predicted",
        "thresholds",
        "method",
        "n_words",
        "truncated",
        "verdict",
    ):
        assert found[key] == expected[key], key
    assert found["offsets"] == [list(pair) for pair in expected["offsets"]]
    assert found["known"] == [token in model.encoder.vocabulary for token in found["tokens"]]
    for key in (
        "probabilities",
        "base",
        "beliefs",
        "level_probabilities",
        "contributions",
        "level_scores",
    ):
        _close(found[key], expected[key], TOLERANCE)
    for key in ("words", "errors"):
        _close(found[key], expected[key], DRAWN_TOLERANCE)
    for key in ("gates", "spans"):
        assert len(found[key]) == len(expected[key])
        for mine, theirs in zip(found[key], expected[key], strict=True):
            _close(mine, theirs, TOLERANCE)
    for mine, theirs in zip(found["units"], expected["units"], strict=True):
        for part in ("score", "probabilities"):
            _close([one[part] for one in mine], [one[part] for one in theirs], DRAWN_TOLERANCE)
    # Phrases that add as much as each other may come in any order.
    by_place = [
        {(one["start"], one["end"]): one for one in of["phrases"]} for of in (found, expected)
    ]
    assert set(by_place[0]) == set(by_place[1])
    for place, theirs in by_place[1].items():
        assert by_place[0][place]["text"] == theirs["text"]
        for part in ("score", "interaction"):
            _close(by_place[0][place][part], theirs[part], DRAWN_TOLERANCE)
    for parts in ([*found["words"]], [one["score"] for one in found["phrases"]]):
        total = np.array(parts).reshape(-1, n_classes).sum(axis=0) + found["base"]
        _close(total, found["probabilities"], DRAWN_TOLERANCE)


def _close(found: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=0, atol=tolerance)
