"""Planted repeats, contradictions, leaks and odd characters are found and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import Corpus, Fold, load
from adasent.data.audit import Audit, audit, leakage
from adasent.errors import DataError


def corpus(rows: list[tuple[str, Any]], test: list[int] | None = None) -> Corpus:
    texts, labels = [list(column) for column in zip(*rows, strict=True)]
    part = None if test is None else np.array(test)
    return Corpus("toy", texts, labels, "ab" * 32, ["a note"], part)


PLAIN = [(f"text number {'i' * (n + 1)}", "ab"[n % 2]) for n in range(20)]


def test_a_clean_set() -> None:
    found = audit(corpus(PLAIN), n_folds=2)
    for repeats in (found.text, found.words):
        assert (repeats.n_distinct, repeats.n_repeated, repeats.n_contradictory) == (20, 0, 0)
        assert (repeats.best_accuracy, repeats.leakage, repeats.n_official) == (1.0, 0.0, None)
    assert found.classes == {"a": 10, "b": 10}
    assert found.majority == 0.5
    assert (found.n, found.n_test, found.notes) == (20, None, ["a note"])
    assert found.lengths.mean == 3
    assert found.lengths.n_types == 22


def test_repeats_and_contradictions() -> None:
    # Three times the same words, once with the other label; twice the same text.
    rows = [
        *PLAIN,
        ("So so!", "a"),
        ("so so!", "a"),
        ("so  so !", "b"),
        ("fine", "a"),
        ("fine", "a"),
    ]
    found = audit(corpus(rows), n_folds=2)
    assert (found.text.n_distinct, found.text.n_repeated) == (24, 2)
    assert (found.text.n_contradictory, found.text.best_accuracy) == (0, 1.0)
    assert (found.words.n_distinct, found.words.n_repeated) == (22, 5)
    assert (found.words.n_contradictory, found.words.n_contradictory_rows) == (1, 3)
    assert found.words.best_accuracy == 24 / 25
    assert found.words.grouped_leakage == 0.0
    assert found.lengths.n_single == 2


def test_several_labels_a_text() -> None:
    rows: list[tuple[str, Any]] = [(text, (label,)) for text, label in PLAIN]
    rows += [("both", ("b", "a")), ("BOTH", ("a", "b")), ("none", ()), ("None", ("a",)), ("x", ())]
    found = audit(corpus(rows), n_folds=2)
    assert found.classes == {"a": 13, "b": 12}
    assert found.label_sets == {"a": 11, "b": 10, "a | b": 2, "": 2}
    assert found.majority == 11 / 25
    assert (found.text.n_contradictory, found.words.n_contradictory) == (0, 1)  # not "both"
    assert found.words.best_accuracy == 24 / 25
    assert Audit.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert audit(corpus(PLAIN), n_folds=2).label_sets is None


def test_leakage_of_a_fold() -> None:
    fold = Fold(0, np.array([0, 1, 2]), np.array([3, 4, 5, 6]))
    assert leakage(["a", "b", "c", "a", "x", "c", "a"], fold) == 3 / 4


def test_leakage_of_random_folds_is_measured() -> None:
    # Every text stands twice, so half of the time a double is on the other side of two folds.
    rows = [(f"t{n // 2}", "ab"[n // 2 % 2]) for n in range(200)]
    found = audit(corpus(rows), n_folds=2).text
    assert 0.3 < found.leakage < 0.7
    assert found.leakage <= found.worst_leakage
    assert found.grouped_leakage == 0.0


def test_official_split() -> None:
    rows = [*PLAIN, ("new", "a"), (PLAIN[0][0], "a"), (PLAIN[1][0].upper(), "b"), ("x", "b")]
    found = audit(corpus([*rows, ("y", "b")], test=[20, 21, 22, 23, 24]), n_folds=2)
    assert found.n_test == 5
    assert (found.text.n_official, found.text.official_leakage) == (1, 1 / 5)
    assert (found.words.n_official, found.words.official_leakage) == (2, 2 / 5)
    # Training has ten of each; the first seen of them is the majority, 2 of 5 in the test part.
    assert found.majority == 2 / 5


def test_odd_texts() -> None:
    odd = [
        ("", "a"),
        ("  ", "b"),
        ("...", "a"),
        ("caf\xe9", "b"),
        ("a\x85b\x85", "a"),
        ("\ufffd", "b"),
    ]
    found = audit(corpus([*PLAIN, *odd, ("tab\there", "a")]), n_folds=2)
    assert (found.n_blank, found.n_wordless, found.n_non_ascii, found.n_odd) == (2, 4, 3, 2)
    assert found.odd == {"U+0085": 2, "U+FFFD": 1}
    assert found.lengths.quantiles["0"] == 0


def test_json_round_trip() -> None:
    found = audit(corpus(PLAIN), tokenizer=str.split, n_folds=2)
    assert found.tokenizer == "custom"
    assert Audit.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    for values in ({}, found.to_dict() | {"text": {}}, found.to_dict() | {"more": 1}):
        with pytest.raises(DataError, match="values of an audit"):
            Audit.from_dict(values)


def test_too_little_data() -> None:
    with pytest.raises(DataError, match="at least one text"):
        audit(Corpus("toy", [], [], "00"))
    with pytest.raises(DataError, match="use fewer folds"):
        audit(corpus(PLAIN), n_folds=11)


@pytest.mark.mirror
def test_the_traps_of_the_benchmarks(mirror: Path) -> None:
    found = audit(load("MPQA"))
    assert (found.n, found.words.n_contradictory) == (10_603, 98)
    assert found.words.leakage == pytest.approx(0.30, abs=0.005)
    trec = audit(load("TREC"))
    assert (trec.n_test, trec.text.n_official) == (500, 10)
    assert audit(load("CR")).words.n_repeated == 12
