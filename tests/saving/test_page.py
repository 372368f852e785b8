"""docs/format.md is enough to read a model: this program knows it and the files, no more."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from adasent import AdaSentClassifier
from adasent.text.tokenize import TOKENIZERS
from adasent.vectors.words import WordVectors

Reviews = tuple[list[str], list[str]]
PAGE = Path(__file__).parents[2] / "docs" / "format.md"


@cache
def expressions() -> dict[str, str]:
    """The expressions of the tokenizers, as the page has them."""
    code = "".join(re.findall(r"^```text\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
    marks = (c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M")
    found = {"MARKS": "".join(marks)}
    for line in code.splitlines():
        name, _, value = line.partition(" = ")
        found[name] = re.sub(r"\{([A-Z]+)\}", lambda match: found[match[1]], value)
    return found


def tokens_by_the_page(tokenizer: str, text: str) -> list[str]:
    if tokenizer == "kim":
        return [match.group().lower() for match in re.finditer(expressions()["KIM"], text)]
    matches = re.finditer(expressions()["WORDS"], text, re.IGNORECASE)
    straight = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")
    return [match.group().lower().translate(straight) for match in matches]


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def predict_by_the_page(folder: Path, text: str) -> np.ndarray:
    """Steps 1 to 8 of docs/format.md, from the files alone."""
    config = json.loads((folder / "config.json").read_text())
    net = config["network"]
    tokens = tokens_by_the_page(config["tokenizer"], text)[: config["max_words"]]
    words = json.loads((folder / "vocabulary.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    w = {name.partition(".")[2]: tensor.astype(np.float64) for name, tensor in tensors.items()}
    f = {"tanh": np.tanh, "relu": lambda a: np.clip(a, 0, 1e4)}[net["activation"]]
    pool = {"mean": np.mean, "max": np.max}[net["pooling"]]
    table = np.vstack([w["trained"], w["fixed"] * w["fixed_scale"][:, None]])
    ids = [words.index(token) if token in words[2:] else 1 for token in tokens] or [1]
    projection = tensors["projection.weight"].astype(np.float64)
    level = [projection @ table[i] for i in ids]

    def unit(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        composed = f(w["compose_left"] @ left + w["compose_right"] @ right + w["compose_bias"])
        scores = w["gate_left"] @ left + w["gate_right"] @ right + w["gate_bias"]
        if net["local_gate"] == "mlp":
            scores = w["gate_out"] @ np.tanh(scores) + w["gate_out_bias"]
        n_groups = net.get("gate_groups", 1)
        found = np.empty_like(left)
        for n in range(n_groups):
            own = np.arange(len(left)) % n_groups == n
            gates = softmax(scores[n::n_groups])
            found[own] = gates @ np.stack([left[own], right[own], composed[own]])
        return found

    def score(level: np.ndarray) -> np.ndarray:
        if net["level_gate"] == "mlp":
            hidden = np.tanh(w["score.0.weight"] @ level + w["score.0.bias"])
            return w["score.2.weight"] @ hidden + w["score.2.bias"]
        return w["score.weight"] @ level + w["score.bias"]

    def classify(level: np.ndarray) -> np.ndarray:
        if net["classifier_size"]:
            level = np.maximum(w["hidden.weight"] @ level + w["hidden.bias"], 0)
        scores = w["out.weight"] @ level + w["out.bias"]
        return 1 / (1 + np.exp(-scores)) if net.get("multilabel", False) else softmax(scores)

    def norm(level: np.ndarray) -> np.ndarray:
        if not net["level_norm"]:
            return level
        scaled = (level - level.mean()) / np.sqrt(level.var() + 0.00001)
        return scaled * tensors["level_norm.weight"] + tensors["level_norm.bias"]

    pooled = []
    while level and len(pooled) < (net.get("max_height") or len(ids)):
        pooled.append(norm(pool(level, axis=0)))
        level = [unit(*pair) for pair in itertools.pairwise(level)]
    beliefs = softmax(np.concatenate([score(one) for one in pooled]))
    return beliefs @ np.array([classify(one) for one in pooled])


ODD = [
    "film",
    "an excellent film",
    "the plot was <pad> bad and the odd cast dull",
    "",
    " \t\n\u2028 ",
    "it isn't good, it's GREAT; don't... DON'T!!",
    "it isn\u2019t good, it\u2018s great",
    "it isn\u02bct good, it\uff07s great, \u02bctwas fine",
    "rock'n'roll 'til he'll they'd i'm o'clock's",
    "a lovely \U0001f600 film \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f\u2764\ufe0f",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 and \U0001f44d\U0001f3fd",
    "a good\x00film \x00\x00",
    "cafe\u0301 caf\u00e9 e\u0301\u0301 \u0301 na\u00efve",
    "\u0661\u0662\u0663 \u0967\u0968 \u00bd \u2167 \u2460 x\u00b2",
    "\u6620\u753b\u306f\u826f\u3044 film \u30d5\u30a3\u30eb\u30e0",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u0644\u0627\u200c\u0645",
    "\u0130stanbul STRASSE \u1e9e \u03a3\u03a3 film\u017f \u212a",
    "a_b__c ---- a-b \u2014\u2014 \u201cgood\u201d `bad` \ud800 film",
    "(good),(bad)!?!! ((( $$$ 3.14 http://x.y/z?q=1",
    "film\x1cplot\x85cast\u00a0story\u3000scene",
]


@pytest.mark.parametrize(
    "settings",
    [
        {"tokenizer": "words"},
        {
            "tokenizer": "words",
            "pooling": "mean",
            "activation": "relu",
            "local_gate": "mlp",
            "level_gate": "mlp",
            "level_norm": False,
        },
        {"tokenizer": "kim", "classifier_size": 0, "copy_bias": 0.0, "max_words": 5},
        {
            "tokenizer": "words",
            "hidden_size": 8,
            "gate_groups": 4,
            "max_height": 3,
            "level_loss": 0.3,
        },
        {"tokenizer": "words", "hidden_size": 8, "gate_groups": 2, "local_gate": "mlp"},
    ],
)
@pytest.mark.filterwarnings("ignore:of .* texts?:adasent.errors.AdaSentWarning")
def test_this_page_is_enough_to_predict(
    reviews: Reviews, tmp_path: Path, settings: dict[str, Any]
) -> None:
    vectors = WordVectors(["excellent", "film"], np.random.default_rng(0).normal(size=(2, 6)))
    sizes = {"hidden_size": 7, "gate_size": 3, "classifier_size": 6, "epochs": 2}
    # Trained on the odd texts too, so that a token that is cut otherwise is another word.
    texts, labels = [*ODD, *reviews[0]], [*(["pos", "neg"] * len(ODD))[: len(ODD)], *reviews[1]]
    clf = AdaSentClassifier(**(sizes | {"vectors": vectors} | settings), validation_fraction=0.0)
    clf.fit(texts, labels).save(tmp_path)
    for text in ODD:
        found = predict_by_the_page(tmp_path, text)
        np.testing.assert_allclose(found, clf.predict_proba([text])[0], rtol=0, atol=2e-6)


@pytest.mark.filterwarnings("ignore:of .* texts?:adasent.errors.AdaSentWarning")
def test_this_page_is_enough_to_find_several_labels(reviews: Reviews, tmp_path: Path) -> None:
    texts, labels = [*ODD, *reviews[0]], [["odd"]] * len(ODD) + [[one] for one in reviews[1]]
    labels[0], labels[1] = ["odd", "positive"], []
    sizes = {"hidden_size": 7, "classifier_size": 6, "vector_size": 6}
    clf = AdaSentClassifier(**sizes, epochs=2, validation_fraction=0.5)
    clf.fit(texts, labels).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for text in ODD:
        found = predict_by_the_page(tmp_path, text)
        np.testing.assert_allclose(found, clf.predict_proba([text])[0], rtol=0, atol=2e-6)
        values = config["labels"]["values"]
        reached = found >= np.array(config["thresholds"])
        assert (
            tuple(v for v, is_there in zip(values, reached, strict=True) if is_there)
            == (clf.predict([text])[0])
        )


@pytest.mark.parametrize("tokenizer", ["words", "kim"])
def test_the_page_cuts_texts_as_the_library_does(tokenizer: str) -> None:
    for text in ODD:
        assert tokens_by_the_page(tokenizer, text) == TOKENIZERS[tokenizer](text), text
    # Every character by itself, and between letters with an apostrophe before them.
    for first in range(0, 0x30000, 0x100):
        block = [chr(c) for c in range(first, first + 0x100)]
        text = " ".join(f"{c} n{c}t'{c}s" for c in block)
        assert tokens_by_the_page(tokenizer, text) == TOKENIZERS[tokenizer](text), hex(first)
