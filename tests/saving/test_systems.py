"""Saved systems that are damaged, foreign or hostile are refused with a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from adasent.errors import ModelFormatError
from adasent.estimators.counts import MNBClassifier, NBSVMClassifier
from adasent.estimators.paragraph_vector import ParagraphVectorClassifier

Reviews = tuple[list[str], list[str]]


@pytest.fixture
def mnb(reviews: Reviews, tmp_path: Path) -> Path:
    MNBClassifier().fit(*reviews).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def paragraphs(reviews: Reviews, tmp_path: Path) -> Path:
    pytest.importorskip("gensim")
    ParagraphVectorClassifier(vector_size=4, epochs=1).fit(*reviews).save(tmp_path / "model")
    return tmp_path / "model"


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    value = json.loads(path.read_bytes())
    path.write_text(json.dumps(change(value)))


def test_the_files_of_a_folder(mnb: Path) -> None:
    assert sorted(path.name for path in mnb.iterdir()) == [
        "config.json",
        "model.safetensors",
        "training.json",
        "vocabulary.json",
    ]
    header = json.loads((mnb / "config.json").read_bytes())
    assert header["system"] == "mnb"
    assert header["settings"] == {"max_ngram": 2, "alpha": 1.0}
    assert header["labels"] == {"kind": "str", "values": ["neg", "pos"]}
    assert ["a", "good"] in json.loads((mnb / "vocabulary.json").read_bytes())


def test_another_system_is_refused(mnb: Path) -> None:
    with pytest.raises(ModelFormatError, match="expected system 'nbsvm', got 'mnb'"):
        NBSVMClassifier.load(mnb)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 99, "expected format 1 or 2, got 99"),
        ("settings", [], "expected settings to be an object"),
        ("settings", {"max_ngrams": 2}, "did you mean 'max_ngram'"),
        ("settings", {"max_ngram": 2.0}, "max_ngram must be an integer"),
        ("settings", {"alpha": "x"}, "alpha must be a number"),
        ("tokenizer", "other", "unknown tokenizer 'other'"),
        ("tokenizer", ["words"], "unknown tokenizer"),
        ("max_words", 0, "max_words"),
        ("labels", {"kind": "str", "values": []}, "labels of kind"),
        ("labels", 3, "config.json"),
        ("labels", {"kind": "str", "values": ["a", "b", "c"]}, r"coef should be \(3, "),
    ],
)
def test_headers_that_do_not_fit(mnb: Path, key: str, value: Any, message: str) -> None:
    edit(mnb / "config.json", lambda header: header | {key: value})
    with pytest.raises(ModelFormatError, match=message):
        MNBClassifier.load(mnb)


@pytest.mark.parametrize("key", ["system", "settings", "tokenizer", "max_words", "labels"])
def test_headers_with_something_missing(mnb: Path, key: str) -> None:
    edit(mnb / "config.json", lambda header: {k: v for k, v in header.items() if k != key})
    with pytest.raises(ModelFormatError, match=f"'{key}' is missing"):
        MNBClassifier.load(mnb)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_files_missing_or_cut_short(mnb: Path, name: str) -> None:
    content = (mnb / name).read_bytes()
    (mnb / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFormatError, match=name):
        MNBClassifier.load(mnb)
    (mnb / name).unlink()
    with pytest.raises(ModelFormatError, match=f"{name} is missing"):
        MNBClassifier.load(mnb)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda words: {"a": 1}, "expected a list that is not empty"),
        (lambda words: [], "expected a list that is not empty"),
        (lambda words: ["a", *words[1:]], "expected lists of 1 to 2 words"),
        (lambda words: [["a", "b", "c"], *words[1:]], "expected lists of 1 to 2 words"),
        (lambda words: [[1], *words[1:]], "expected lists of 1 to 2 words"),
        (lambda words: [words[1], *words[1:]], "some n-gram occurs twice"),
        (lambda words: words[1:], "coef should be"),
    ],
)
def test_ngrams_that_do_not_fit(mnb: Path, change: Callable[[Any], Any], message: str) -> None:
    edit(mnb / "vocabulary.json", change)
    with pytest.raises(ModelFormatError, match=message):
        MNBClassifier.load(mnb)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pairs: [["a"], *pairs[1:]], "pairs of a word and its count"),
        (lambda pairs: [["a", 0], *pairs[1:]], "pairs of a word and its count"),
        (lambda pairs: [["a", True], *pairs[1:]], "pairs of a word and its count"),
        (lambda pairs: [["a", 2**80], *pairs[1:]], "pairs of a word and its count"),
        (lambda pairs: [pairs[1], *pairs[1:]], "some word occurs twice"),
        (lambda pairs: pairs[1:], "should be"),
    ],
)
def test_counts_that_do_not_fit(
    paragraphs: Path, change: Callable[[Any], Any], message: str
) -> None:
    edit(paragraphs / "vocabulary.json", change)
    with pytest.raises(ModelFormatError, match=message):
        ParagraphVectorClassifier.load(paragraphs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays | {"more": np.zeros(1, np.float32)}, "not expected: 'more'"),
        (lambda arrays: {"coef": arrays["coef"]}, "missing: 'intercept', 'log_prior'"),
        (
            lambda arrays: arrays | {"intercept": np.zeros(2)},
            r"intercept should be \(2,\) of F32, is .* of F64",
        ),
        (
            lambda arrays: arrays | {"intercept": np.array([0, np.nan], np.float32)},
            "intercept holds values that are not finite",
        ),
    ],
)
def test_arrays_that_do_not_fit(mnb: Path, change: Callable[[Any], Any], message: str) -> None:
    arrays = load_file(mnb / "model.safetensors")
    save_file(change(arrays), mnb / "model.safetensors")
    with pytest.raises(ModelFormatError, match=message):
        MNBClassifier.load(mnb)


def test_no_folder(tmp_path: Path, reviews: Reviews) -> None:
    with pytest.raises(ModelFormatError, match="is not a folder"):
        MNBClassifier.load(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFormatError, match="a file of that name is in the way"):
        MNBClassifier().fit(*reviews).save(tmp_path / "file")
