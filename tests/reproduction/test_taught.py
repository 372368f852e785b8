"""Rows on an encoder leave lessons, taught rows learn from them, and nobody sees what is tested."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError
from adasent.evaluation.runner import run_jobs
from adasent.teaching.sentences import key_of
from adasent.text.tokenize import get_tokenizer
from adasent.vectors.words import WordVectors
from experiment_cases import made_up, toy_corpus
from reproduction import encoder as encoders
from reproduction.away import pack_lessons, unpack_lessons
from reproduction.cells import table2_cells
from reproduction.encoder import find_rounded, pack_encoder, unpack_encoder
from reproduction.jobs import Jobs
from reproduction.lessons import Lesson, Reader
from reproduction.search_runs import run_search
from reproduction.specs import Experiments, PlannedRun, SystemSpec
from reproduction.students import Choice
from reproduction.taught_table import taught_tables
from reproduction.texts import Texts, write_texts
from reproduction.trimmed import read_trimmed, write_trimmed

pytestmark = pytest.mark.usefixtures("toy_registry")
KIM = get_tokenizer("kim")
SIZES = {"film": 8, "made": 6}
WORDS = ["good", "bad", "film", "not", "a", *(f"film{i}" for i in range(60))]


@pytest.fixture
def encoder(encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny encoder that the protocol takes for its own."""
    digest = hashlib.sha256((encoder_folder / "model.safetensors").read_bytes()).hexdigest()
    monkeypatch.setitem(encoders.ORIGINALS, "gte-small", digest)
    return encoder_folder


@pytest.fixture
def jobs(plan: Experiments, encoder: Path, tmp_path: Path) -> Jobs:
    """A teacher and its student, with everything that they need in a folder."""
    tuned = {"tune_encoder": True, "tuning_epochs": 1}
    taught = {
        "gte-mean": SystemSpec(
            "gte-mean", "mean", vectors=True, of="cbow", base=tuned, encoder="gte-small"
        ),
        "frozen": SystemSpec(
            "frozen", "frozen", vectors=True, of="adasent",
            base={"hidden_size": 8}, encoder="gte-small",
        ),
        "student": SystemSpec(
            "student", "student", vectors=True, of="adasent", teacher="gte-mean",
            base={"hidden_size": 8}, variants=({"hard": 0.0},),
        ),
    }  # fmt: skip
    protocol = replace(plan.protocol, epochs=2, patience=1, extra_words=100)
    found = Jobs(
        replace(plan, protocol=protocol, taught=taught, texts={"CR": SIZES, "MR": SIZES}),
        read=toy_corpus,
        teaching=tmp_path / "teaching",
    )
    folder = tmp_path / "teaching"
    pack_encoder("gte-small", encoder, folder / "encoder")
    (folder / "texts").mkdir()
    with lzma.open(folder / "texts" / "film.txt.xz", "wt") as file:
        file.write("\n".join(f"a good film {i}" for i in range(8)))
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    write_trimmed(folder / "vectors", "static", WordVectors(WORDS, matrix), None, small=True)
    return found


def runs(jobs: Jobs, system: str, n: int = 1) -> list[PlannedRun]:
    return jobs.plan.runs("taught", ["MR"], [system])[:n]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_teacher_leaves_its_lesson_and_a_student_learns_from_it(
    jobs: Jobs, own_cache: Path, tmp_path: Path
) -> None:
    (of_student,) = runs(jobs, "student")
    with pytest.raises(DataError, match="gte-mean"):
        jobs.lessons.read(of_student)
    (taught,) = run_jobs([jobs.job(run) for run in runs(jobs, "gte-mean")])
    assert taught.record.spec["encoder"] == encoders.describe_encoder("gte-small")
    assert "vectors" not in taught.record.spec
    lesson = jobs.lessons.read(of_student)
    job = jobs.job(of_student)
    assert len(lesson.known) == len(job.train)
    assert {kind: len(part) for kind, part in lesson.said.items()} == SIZES
    labelled = {key_of(KIM(text)) for text in job.corpus.texts}
    assert not labelled & {key_of(KIM(t)) for part in lesson.texts.values() for t in part}

    (result,) = run_jobs([job], stack=2)  # both settings as one stack
    record = result.record
    assert (record.n_train, record.n_together) == (len(job.train), 2)
    assert record.spec["teacher"]["system"] == "gte-mean"
    assert record.spec["texts"] == SIZES
    assert record.spec["defaults"]["hard"] == 0.5
    assert len(record.tried) == 2

    archives = tmp_path / "archives"
    assert pack_lessons(list((tmp_path / "teaching" / "lessons").iterdir()), archives) == 1
    unpack_lessons(tmp_path / "there", [str(path) for path in archives.iterdir()])
    folders = (tmp_path, tmp_path / "there")
    (here,), (there,) = (list((one / "teaching" / "lessons").iterdir()) for one in folders)
    assert (here.name, here.read_bytes()) == (there.name, there.read_bytes())

    settings: list[dict[str, Any]] = [{}, {"n_extra": 0}, {"dropout": 0.1}]
    rows = list(run_search(jobs, "student", settings, "MR", [0], tmp_path / "search.jsonl"))
    assert [row["settings"] for row in rows] == sorted(settings, key=str)
    assert all(row["n_dev"] == len(job.dev if job.dev is not None else []) for row in rows)


def test_a_frozen_row_runs(jobs: Jobs, own_cache: Path) -> None:
    (result,) = run_jobs([jobs.job(run) for run in runs(jobs, "frozen")])
    assert result.record.spec["defaults"]["hidden_size"] == 8
    assert "tune_encoder" not in result.record.spec["defaults"]


def test_what_a_reader_says_is_what_the_teacher_predicts(encoder: Path, own_cache: Path) -> None:
    from adasent import AdaSentClassifier

    corpus = toy_corpus("MR")
    clf = AdaSentClassifier(
        encoder=encoder, tune_encoder=True, tuning_epochs=1, hidden_size=8, tokenizer="kim",
        device="cpu",
    ).fit(corpus.texts, corpus.labels)  # fmt: skip
    texts = ["good", "a bad film !", "not a good film5 , not at all"]
    said = Reader(KIM).probabilities(clf, texts, "some")
    np.testing.assert_allclose(said, clf.predict_proba(texts), atol=2e-3)


def test_a_rounded_encoder_is_near_and_is_made_once(encoder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    pack_encoder("gte-small", encoder, tmp_path / "packed")
    folder = unpack_encoder(tmp_path / "packed", tmp_path / "one")
    whole, rounded = (load_file(one / "model.safetensors") for one in (encoder, folder))
    assert whole.keys() == rounded.keys()
    for name, tensor in whole.items():
        exact = tensor.ndim != 2
        step = 0 if exact else np.abs(tensor).max(axis=1, keepdims=True) / 127
        assert (np.abs(tensor - rounded[name]) <= step + 1e-9).all(), name
    again = find_rounded("gte-small", encoder, tmp_path / "store")
    assert (again / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert find_rounded("gte-small", tmp_path / "nowhere", tmp_path / "store") == again


def test_other_weights_are_no_encoder_of_the_protocol(encoder_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected gte-small with the sha256"):
        pack_encoder("gte-small", encoder_folder, tmp_path)
    with pytest.raises(ConfigError, match="expected the folder of gte-small"):
        pack_encoder("gte-small", tmp_path / "no", tmp_path)


def test_texts_by_kind(tmp_path: Path) -> None:
    film = ["It is not a good film .", "a good film", "is it ?", "is it ?", "word " * 50]
    wiki = ["A man . Was he here ? He was ."]
    for name, lines in {"imdb-sentences-300k": film, "enwiki-9M-words": wiki}.items():
        with gzip.open(tmp_path / f"{name}.txt.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    sizes = dict.fromkeys(("film", "wiki", "phrases", "negated", "questions"), 10)
    write_texts(tmp_path / "texts", sizes, tmp_path, ["A good film!"], ["two words"], KIM)
    texts = Texts(tmp_path / "texts")
    assert texts.read("film") == ["It is not a good film .", "is it ?"]
    assert texts.read("questions")[0] == "is it ?"
    assert all("not" in text.split() for text in texts.read("negated"))
    assert all(len(text.split()) <= 2 for text in texts.read("phrases"))
    assert {"man", "film"} <= texts.words
    with pytest.raises(DataError, match="pack"):
        texts.read("poems")
    training = ["one two three", "four five six"]
    made = texts.of_fold({"film": 1, "made": 4}, training, training, KIM, seed=0)
    assert made == texts.of_fold({"film": 1, "made": 4}, training, training, KIM, seed=0)
    assert len(made["film"]) == 1
    again = texts.of_fold({"film": 1}, ["others"], training, KIM, seed=1)
    assert again["film"] is made["film"]  # so that a process reads it once for an encoder
    assert len(made["made"]) == 4
    assert not set(made["made"]) & set(training)


def test_a_choice_of_texts() -> None:
    texts = {"film": ["a film", "a bad film", "dull"], "made": ["good good"]}
    sure = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], dtype=np.float32)
    lesson = Lesson(
        np.array(["neg", "pos"]),
        np.zeros((2, 2), np.float32),
        texts,
        {"film": sure, "made": np.array([[0.5, 0.5]], dtype=np.float32)},
    )
    known = ["bad film", "good"], ["neg", "pos"]

    def take(**settings: Any) -> list[str]:
        found, said = Choice(**settings).take(lesson, *known, KIM)
        assert said.shape == (len(found), 2)
        return found

    assert take() == ["a film", "a bad film", "dull", "good good"]
    assert take(kinds="made") == ["good good"]
    assert take(n_extra=0) == []
    assert len(take(n_extra=1, kinds="film", choose="near")) == 1
    assert take(n_extra=2, kinds="film", surplus=2.0) == ["a film", "a bad film"]
    with pytest.raises(ConfigError, match="poems"):
        take(kinds="poems")


def test_vectors_in_bytes_come_back(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    write_trimmed(tmp_path, "some", WordVectors(["a", "b", "c"], matrix), None, small=True)
    np.testing.assert_allclose(read_trimmed(tmp_path, "some").matrix, matrix, atol=0.03)


def test_the_table_shows_and_compares_what_there_is(plan: Experiments) -> None:
    rows = [SystemSpec(name, name.upper()) for name in ("gte-mean", "gte-tuned", "adasent-taught")]
    untaught = list(plan.systems.values())
    right = {"gte-mean": 3, "gte-tuned": 30, "adasent-taught": 28, "adasent": 2, "grconv": 25}
    records = [
        made_up(name, "CR", [i < n for i in range(40)], fold=fold, table="taught")
        for name, n in right.items()
        for fold in range(2)
    ]
    assert taught_tables({}, rows, untaught, ["CR"], ["CR"], {}) == []
    accuracy, tests = taught_tables(table2_cells(records), rows, untaught, ["CR"], ["CR"], {})
    assert [row[1].text for row in accuracy.rows] == ["7.5 ± 0.0", "75.0 ± 0.0", "70.0 ± 0.0"]
    assert (accuracy.columns[2], accuracy.n_missing) == ("CR grouped", 3)
    found = {(row[1].text, row[2].text): row[3].text for row in tests.rows}
    assert found == {
        ("GTE-TUNED", "GTE-MEAN"): "+67.50",
        ("ADASENT-TAUGHT", "GTE-MEAN"): "+62.50",
        ("ADASENT-TAUGHT", "AdaSent"): "+65.00",
    }
    assert tests.notes[1].startswith("CR: AdaSent taught is ahead of 2 of the 2 rows")
