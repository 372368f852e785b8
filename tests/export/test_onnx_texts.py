"""Ids of texts by the two JSON files beside a graph, as a program without adasent makes them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import adasent
from adasent.export.onnx_file import export_onnx
from adasent.text.tokenize import TOKENIZERS
from examples import onnx_predict
from examples.onnx_predict import Reader, batches, classify
from network_pairs import Pair
from onnx_cases import TEXTS, Exported

#: What tokenizers treat in ways of their own.
ODD = [
    "It\u2019s a GOOD film, isn't it?",
    "don 't !!! ... (well) `quoted' cant",
    "n\u2019t 'S \u02bcre",
    "\u0130stanbul \u017fo na\u00efve cafe\u0301 \u00df",
    "\u65e5\u672c\u8a9e\u306e film \U0001f1e9\U0001f1ea\U0001f1eb",
    "\U0001f44d\U0001f3fd \U0001f469\u200d\U0001f680 \u2764\ufe0f",
    "\u00a0 \t\n a\u2028b \ud800 \x00",
    "x" * 100,
]


@pytest.mark.parametrize("tokenizer", ["words", "kim"])
def test_ids_are_those_of_adasent(tmp_path: Path, tokenizer: str) -> None:
    folder = Pair().save(tmp_path / "model", tokenizer=tokenizer)
    predictor = adasent.load(folder)
    _, rules, vocabulary = export_onnx(folder, tmp_path / "small.onnx", texts=True)
    assert (rules.name, vocabulary.name) == ("small.tokenizer.json", "small.vocabulary.json")
    assert vocabulary.read_bytes() == (folder / "vocabulary.json").read_bytes()
    read = Reader(rules)
    for text in [*TEXTS, *ODD, " ".join(["good"] * 40)]:
        assert read.tokens(text) == TOKENIZERS[tokenizer](text)
        kept = TOKENIZERS[tokenizer](text)[:30]
        assert read(text) == predictor.encoder.vocabulary.encode(kept).tolist()


def test_a_vocabulary_of_another_model_is_noticed(exported: Exported, tmp_path: Path) -> None:
    _, rules, vocabulary = exported.files
    (tmp_path / rules.name).write_bytes(rules.read_bytes())
    (tmp_path / vocabulary.name).write_bytes(vocabulary.read_bytes() + b" ")
    with pytest.raises(ValueError, match="is not the vocabulary of"):
        Reader(tmp_path / rules.name)


def test_batches_change_nothing(exported: Exported) -> None:
    ids = exported.ids(TEXTS * 3)
    together = classify(exported.session, ids)
    for n_words in (1, 7):
        np.testing.assert_allclose(classify(exported.session, ids, n_words), together, atol=1e-6)


def test_batches_hold_every_text_once_and_little_padding() -> None:
    lengths = np.random.default_rng(0).integers(1, 40, 200).tolist()
    made = list(batches(lengths, 100))
    assert sorted(i for some in made for i in some) == list(range(200))
    for some in made:
        assert len(some) == 1 or max(lengths[i] for i in some) * len(some) <= 100
    padded = sum(max(lengths[i] for i in some) * len(some) for some in made)
    assert padded < 1.1 * sum(lengths)


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_example_labels_lines(make_exported: Callable[..., Exported], multilabel: bool) -> None:
    one = make_exported({"texts": True}, multilabel=multilabel)
    lines = [text for text in TEXTS if text]
    command = [sys.executable, "-I", onnx_predict.__file__, str(one.path)]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    expected = [one_or_more(label) for label in one.predictor.predict(lines)]
    assert [line.split("\t") for line in done.stdout.splitlines()] == [
        [label, line] for label, line in zip(expected, lines, strict=True)
    ]


def one_or_more(label: object) -> str:
    return ", ".join(label) if isinstance(label, tuple) else str(label)


def test_the_rules_hold_no_code(exported: Exported) -> None:
    rules = json.loads(exported.files[1].read_bytes())
    assert {name: type(value) for name, value in rules.items()} == {
        "name": str,
        "pattern": str,
        "ignore_case": bool,
        "apostrophes": str,
        "max_words": int,
        "padding": int,
        "unknown": int,
        "n_specials": int,
        "vocabulary": str,
        "vocabulary_sha256": str,
    }
