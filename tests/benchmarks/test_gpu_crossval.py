"""The cross-validation that is timed on a GPU, on made-up reviews and the CPU."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.data import Corpus
from adasent.evaluation.crossval import cross_validate
from adasent.evaluation.records import append_record
from benchmarks import gpu_crossval

SMALL = {"hidden_size": 4, "epochs": 1}


@pytest.fixture
def corpus(reviews: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch) -> Corpus:
    texts, labels = reviews
    made = Corpus("MR", texts[:40], labels[:40], None, "0" * 64)
    monkeypatch.setattr(gpu_crossval, "load", lambda name: made)
    return made


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = np.array(["good", "bad", "film"])
    np.savez(tmp_path / "wiki-50d.npz", words=words, matrix=rng.normal(size=(3, 4)))
    return tmp_path


def run(vectors: Path, defaults: Path) -> list[dict[str, Any]]:
    out = vectors / "out.jsonl"
    options = ["--folds", "2", "--epochs", "1", "--defaults", str(defaults)]
    gpu_crossval.main(["--out", str(out), "--vectors", str(vectors), *options])
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.usefixtures("corpus")
def test_the_same_folds_are_timed_twice(vectors: Path, tmp_path: Path) -> None:
    first, again = run(vectors, tmp_path / "nothing")
    assert (first["run"], again["run"]) == ("first", "again")
    assert first["accuracy"] == again["accuracy"]
    assert first["folds"] == 2
    assert {"seconds", "device", "torch", "commit"} <= set(first)


def test_defaults_stand_beside_their_records(
    vectors: Path, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = gpu_crossval.vector_path("wiki-50d", vectors, tmp_path)
    records = cross_validate(corpus, SMALL, vectors={"wiki-50d": path}, n_folds=2)
    for record, _ in records:
        append_record(tmp_path / "MR-50d.jsonl", record)
        other = replace(record, spec=record.spec | {"epochs": 99})
        append_record(tmp_path / "changed.jsonl", other)
    defaults = tmp_path / "defaults"
    defaults.mkdir()
    (tmp_path / "MR-50d.jsonl").rename(defaults / "b.jsonl")
    (tmp_path / "changed.jsonl").rename(defaults / "a.jsonl")
    monkeypatch.setattr(
        gpu_crossval,
        "cross_validate",
        lambda corpus, settings, **how: cross_validate(corpus, SMALL | settings, **how),
    )
    *_, changed, same = run(vectors, defaults)
    assert "changed since the records: epochs" in changed["error"]
    assert same["here"] == pytest.approx(same["recorded"])
    assert same["runs"] == 2


def test_settings_that_differ() -> None:
    old = {"epochs": 30, "pooling": "max", "gone": 1, "vectors": ["a"]}
    new = {"epochs": 20, "pooling": "max", "new": None, "vectors": ["b"], "system": "adasent"}
    assert gpu_crossval.differing(old, new) == ["epochs", "gone", "new"]
