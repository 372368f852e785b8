"""Parts of a text are parts of its pyramid, or are read again where words know their text."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adasent import Predictor
from adasent.encoders.folder import find_encoder
from adasent.encoders.transformer import TransformerEncoder
from adasent.explain import explain
from adasent.explain.call_words import InPyramid, ReadAgain, words_of
from adasent.explain.composition import decompose_phrase
from adasent.explain.explanation import Explanation
from adasent.explain.profile import word_order
from adasent.runtime.network import Network
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.passage import Passage
from adasent.text.tokenize import words
from explain_cases import filled_up

pytestmark = pytest.mark.filterwarnings("ignore:of .* texts?")

TEXTS = ["good", "", "not good", "a good plot, and a bad film", "zebra film", "bad plot bad"]
SETTINGS: list[dict[str, Any]] = [{}, {"pooling": "mean"}, {"max_height": 2}]


def contextual(folder: Path, **settings: Any) -> Predictor:
    """A random network above the tiny encoder."""
    sizes = {"n_trained": 2, "n_classes": 3, "vector_size": 16, "hidden_size": 7}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AdaSent(AdaSentConfig(**sizes | settings)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    table = WordTable.wide(tensors.pop("embedding.trained"), tensors.pop("embedding.fixed"))
    encoder = TransformerEncoder.open(find_encoder(folder), words, 2000)
    network = Network(model.config, table, tensors)
    return Predictor(network, encoder, np.array(["a", "b", "c"]))


@pytest.mark.parametrize("method", ["shapley", "fast"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_reading_again_finds_what_is_in_the_pyramid(
    make_twin: Callable[..., Any],
    settings: dict[str, Any],
    method: str,
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    predictor = make_twin(**settings).predictor
    expected = explain(predictor, TEXTS, method=method)
    monkeypatch.setattr(type(predictor.encoder), "contextual", True)
    found = explain(predictor, TEXTS, method=method)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.words, other.words, atol=1e-5)
        np.testing.assert_allclose(one.unit_scores.rows, other.unit_scores.rows, atol=1e-5)
        np.testing.assert_array_equal(one.contributions, other.contributions)
        found_phrases, other_phrases = one.phrases.found, other.phrases.found
        np.testing.assert_array_equal(found_phrases.bounds, other_phrases.bounds)
        np.testing.assert_allclose(
            found_phrases.interactions, other_phrases.interactions, atol=1e-5
        )


@pytest.mark.parametrize("settings", SETTINGS)
def test_parts_of_a_contextual_text_are_read_again(
    encoder_folder: Path, settings: dict[str, Any], backend: str
) -> None:
    predictor = contextual(encoder_folder, **settings)
    base = predictor.predict_proba([""])[0]
    for one in explain(predictor, TEXTS, method="fast"):
        p = predictor.predict_proba([one.text])[0]
        np.testing.assert_allclose(one.probabilities, p, atol=1e-6)
        np.testing.assert_allclose(one.contributions.sum(axis=0), p, atol=1e-6)
        np.testing.assert_allclose(one.base, base, atol=1e-6)
        passage, n = Passage(one.text, words(one.text)), len(one.tokens)
        if not one.n_words:
            np.testing.assert_allclose(one.words, 0, atol=1e-6)
            continue
        parts = [
            passage.take(range(*span)).text
            for i in range(n)
            for span in ((i, i + 1), (0, i + 1), (0, i), (i, n), (i + 1, n))
        ]
        says = predictor.predict_proba(parts).reshape(n, 5, 3)
        scores = (says[:, 0] - base + says[:, 1] - says[:, 2] + says[:, 3] - says[:, 4]) / 3
        np.testing.assert_allclose(one.words, filled_up(scores, p - base), atol=1e-5)
        again = Explanation.from_json(json.dumps(one.to_dict()))
        assert again.offsets == one.offsets


def test_the_shortcut_would_be_wrong(encoder_folder: Path) -> None:
    predictor = contextual(encoder_folder)
    text = "a good plot and a bad film"
    passages = [Passage(text, words(text))]
    chosen = words_of(predictor.network, predictor.encoder, passages)
    assert isinstance(chosen, ReadAgain)
    trace = predictor.trace(text)
    inside = np.stack([level[1:].max(axis=0) for level in trace.units[:-1]])
    read = predictor.trace(passages[0].take(range(1, 7)).text)
    assert np.abs(inside - read.levels).max() > 1e-2


def test_a_table_takes_the_shortcut(make_twin: Callable[..., Any]) -> None:
    predictor = make_twin().predictor
    passages = [Passage("a good film", words("a good film"))]
    assert isinstance(words_of(predictor.network, predictor.encoder, passages), InPyramid)


def test_whatever_else_asks_for_the_words(encoder_folder: Path) -> None:
    predictor = contextual(encoder_folder)
    texts = ["a good film was bad", "bad plot", "good, good film"]
    labels = predictor.predict(texts).tolist()
    order = word_order(predictor, texts, labels)
    assert order.accuracy == 1.0
    assert 0 <= order.changed <= 1
    tokens, found = decompose_phrase(predictor, "a good film")
    assert tokens == ("a", "good", "film")
    np.testing.assert_allclose(found.reproduced(), found.unit, atol=1e-6)
    np.testing.assert_allclose(found.unit, predictor.trace("a good film").units[-1][0], atol=1e-4)


def test_short_and_long_texts(encoder_folder: Path) -> None:
    predictor = contextual(encoder_folder, max_height=3)
    texts = ["", "good", " ".join(["good", "film", "unbelievable", "x"] * 500)]
    traces = predictor.trace(texts)
    assert [len(trace.tokens) for trace in traces] == [1, 1, 2000]
    p = predictor.predict_proba(texts)
    for trace, row in zip(traces, p, strict=True):
        np.testing.assert_allclose(trace.probabilities, row, atol=1e-5)


def test_shapley_values_of_a_contextual_text(encoder_folder: Path) -> None:
    predictor = contextual(encoder_folder)
    one = explain(predictor, "not a good film", method="shapley")
    tokens = one.tokens
    values = {
        part: predictor.predict_proba([" ".join(tokens[i] for i in part)])[0]
        for n in range(5)
        for part in itertools.combinations(range(4), n)
    }
    expected = np.zeros((4, 3))
    for order in itertools.permutations(range(4)):
        for i, word in enumerate(order):
            before, after = sorted(order[:i]), sorted(order[: i + 1])
            expected[word] += (values[tuple(after)] - values[tuple(before)]) / 24
    np.testing.assert_allclose(one.words, expected, atol=1e-5)
    np.testing.assert_allclose(one.base, values[()], atol=1e-6)
