"""Folds of a small corpus: what a record holds, what is not run twice."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent import AdaSentClassifier
from adasent.data import Corpus
from adasent.data.span_parser import N_ROWS, SpanParser
from adasent.data.trees import Treebank, parse_trees
from adasent.errors import AdaSentWarning, ConfigError, DataError
from adasent.estimators import neural
from adasent.evaluation import crossval
from adasent.evaluation.crossval import cross_validate, make_folds
from adasent.evaluation.records import UNSAID, append_record, read_records
from adasent.evaluation.several import record_several
from adasent.vectors.words import WordVectors, write_vectors

RESULTS = Path(__file__).parents[2] / "results" / "defaults"
TINY: dict[str, Any] = {"hidden_size": 8, "classifier_size": 8, "vector_size": 8, "epochs": 2}


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folds are run one by one unless a test says otherwise."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)


@pytest.fixture
def corpus(reviews: tuple[list[str], list[str]]) -> Corpus:
    texts, labels = reviews
    return Corpus("toy", texts[:40], list(labels[:40]), "ab" * 32)


def test_several_labels_a_text(tmp_path: Path) -> None:
    """A record has all labels of each text, in the file too, and the folds have each class."""
    words = {"joy": "happy", "rage": "angry", "fear": "afraid"}
    own = [tuple(name for k, name in enumerate(words) if i >> k & 1) for i in range(48)]
    texts = [" ".join(["so", *(words[name] for name in one), str(i)]) for i, one in enumerate(own)]
    corpus = Corpus("mails", texts, [one[::-1] for one in own], "cd" * 32)
    settings = TINY | {"epochs": 12, "learning_rate": 0.03, "batch_size": 10}
    found = list(cross_validate(corpus, settings, n_folds=3, out=tmp_path / "folds.jsonl"))
    assert read_records(tmp_path / "folds.jsonl") == [record for record, _ in found]
    for record, _ in found:
        assert record.multilabel
        assert record.classes == ["fear", "joy", "rage"]
        named = [{record.classes[i] for i in one} for one in record.true]
        assert named == [set(own[i]) for i in record.test]
        assert all(one == sorted(one) for one in [*record.true, *record.predicted])
        assert {name for one in named for name in one} == set(words)
        report = record_several(record)
        assert report.subset_accuracy == record.accuracy
        assert report.micro_f1 > 0.6
        hits = sum(len(set(a) & set(b)) for a, b in zip(record.true, record.predicted, strict=True))
        n = sum(map(len, record.true)) + sum(map(len, record.predicted))
        assert report.micro_f1 == pytest.approx(2 * hits / n)
    with pytest.raises(DataError, match="one label a text"):
        list(cross_validate(corpus, {}, system="nbsvm", n_folds=3))


def test_record(corpus: Corpus, tmp_path: Path) -> None:
    vectors = tmp_path / "v.bin"
    write_vectors(vectors, WordVectors(["film", "good"], np.eye(2)))
    runs = list(cross_validate(corpus, TINY, vectors={"mine": vectors}, n_folds=2, seeds=[3]))
    assert [is_new for _, is_new in runs] == [True, True]
    records = [record for record, _ in runs]
    assert sorted(records[0].test + records[1].test) == list(range(40))
    for record in records:
        assert record.spec["system"] == "adasent"
        assert record.spec["epochs"] == 2
        assert record.spec["vectors"][0]["name"] == "mine"
        assert len(record.spec["vectors"][0]["sha256"]) == 64
        assert not {"random_state", "checkpoint", "verbose"} & set(record.spec)
        assert (record.seed, record.rule, record.n_folds) == (3, "random", 2)
        assert (record.n_train, record.n_valid, record.n_test) == (18, 2, 20)
        assert record.classes == ["neg", "pos"]
        assert [record.classes[i] for i in record.true] == [corpus.labels[i] for i in record.test]
        hits = sum(a == b for a, b in zip(record.true, record.predicted, strict=True))
        assert record.accuracy == hits / 20
        assert len(record.history) == 2
        assert record.history[0]["gradient_flow"] in ("healthy", "vanishing", "exploding")
        assert {"adasent", "torch", "numpy", "python", "platform"} == set(record.versions)
        assert (record.machine, record.n_threads, record.n_together) == ("cpu", 1, 1)
        assert record.chosen is None
        json.dumps(record.spec)


def test_a_record_is_what_the_estimator_gives(corpus: Corpus) -> None:
    record, _ = next(cross_validate(corpus, TINY, n_folds=2))
    train = [i for i in range(40) if i not in record.test]
    clf = AdaSentClassifier(**TINY).fit(
        [corpus.texts[i] for i in train], [corpus.labels[i] for i in train]
    )
    predicted = clf.predict([corpus.texts[i] for i in record.test]).tolist()
    assert [record.classes[i] for i in record.predicted] == predicted


def test_recorded_folds_are_not_run_again(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r.jsonl"
    first = next(cross_validate(corpus, TINY, n_folds=2, out=out))[0]  # stopped after one fold
    runs = list(cross_validate(corpus, TINY, n_folds=2, out=out))
    assert [is_new for _, is_new in runs] == [False, True]
    assert runs[0][0] == first
    assert read_records(out) == [record for record, _ in runs]
    others = [
        (corpus, TINY | {"epochs": 1}, {}),
        (corpus, TINY, {"rule": "grouped"}),
        (Corpus("toy", corpus.texts, corpus.labels, "cd" * 32), TINY, {}),
    ]

    def ran(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("adasent.evaluation.runner.train_group", ran)
    for data, settings, more in others:
        with pytest.raises(ZeroDivisionError):
            next(cross_validate(data, settings, n_folds=2, out=out, **more))


def test_labels_keep_their_type_and_odd_texts_are_told_once() -> None:
    texts = ["good film", "bad film", "", "dull plot"] * 6
    corpus = Corpus("n", texts, [1, 0, 1, 0] * 6, "ef" * 32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        records = [r for r, _ in cross_validate(corpus, TINY | {"epochs": 1}, n_folds=2)]
    assert records[0].classes == [0, 1]
    messages = [str(w.message) for w in caught if issubclass(w.category, AdaSentWarning)]
    assert messages == ["of 24 texts: 6 without a word, read as one unknown word"]


def test_labels_of_mixed_types_are_refused(corpus: Corpus) -> None:
    mixed = Corpus("m", corpus.texts, [1, "a"] * 20, "")
    with pytest.raises(DataError, match="mixed types"):
        next(cross_validate(mixed, TINY, n_folds=2))


def test_an_interrupted_fold_is_no_result(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = neural.fit_encoded

    def cut_short(estimators: Any, texts: Any) -> None:
        fit(estimators, texts)
        estimators[0].history_.interrupted = True

    monkeypatch.setattr(neural, "fit_encoded", cut_short)
    out = tmp_path / "r.jsonl"
    with pytest.raises(KeyboardInterrupt):
        next(cross_validate(corpus, TINY, n_folds=2, out=out))
    assert read_records(out) == []


def test_folds_trained_as_one_are_the_same_folds(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    one_by_one = [r for r, _ in cross_validate(corpus, TINY, n_folds=3, seeds=[0, 1])]
    next(cross_validate(corpus, TINY, n_folds=3, seeds=[0], out=out))
    runs = list(cross_validate(corpus, TINY, n_folds=3, seeds=[0, 1], out=out, stack=4))
    assert [is_new for _, is_new in runs] == [False] + [True] * 5
    assert len(read_records(out)) == 6
    for (record, _), single in zip(runs, one_by_one, strict=True):
        assert record.key == single.key
        assert record.test == single.test
        assert record.predicted == single.predicted
        assert record.best_epoch == single.best_epoch
        for row, expected in zip(record.history, single.history, strict=True):
            assert row["train_loss"] == pytest.approx(expected["train_loss"], rel=1e-4)
    assert runs[1][0].n_together == 4
    assert runs[1][0].history[0]["gradient_flow"] is None
    assert runs[5][0].n_together == 1  # the sixth fold was left to itself


def test_a_seed_named_twice_is_run_once(corpus: Corpus) -> None:
    records = [r for r, _ in cross_validate(corpus, TINY, n_folds=2, seeds=[0, 0, 1])]
    assert [(r.seed, r.fold) for r in records] == [(0, 0), (0, 1)] * 2 + [(1, 0), (1, 1)]
    assert records[0] is records[2]


def test_folds_finished_before_an_interrupt_are_kept(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = neural.fit_encoded

    def cut_short(estimators: Any, texts: Any) -> None:
        fit(estimators, texts)
        estimators[1].history_.interrupted = True

    monkeypatch.setattr(neural, "fit_encoded", cut_short)
    out = tmp_path / "r.jsonl"
    with pytest.raises(KeyboardInterrupt):
        next(cross_validate(corpus, TINY, n_folds=3, out=out, stack=3))
    assert [record.fold for record in read_records(out)] == [0, 2]


def test_grouped_folds_compare_tokens() -> None:
    texts = ["Good film!", "good  FILM !", "bad film", "bad film."] * 3
    corpus = Corpus("g", texts, ["p", "p", "n", "n"] * 3, "")
    tokens = [["good", "film", "!"], ["good", "film", "!"], ["bad", "film"], ["bad", "film"]] * 3
    for fold in make_folds(corpus, "grouped", 2, 0, tokens):
        of = {tuple(tokens[i]) for i in fold.train} & {tuple(tokens[i]) for i in fold.test}
        assert not of


def test_official(corpus: Corpus) -> None:
    with pytest.raises(DataError, match="no official split"):
        make_folds(corpus, "official", 10, 0, [])
    split = Corpus("s", corpus.texts, corpus.labels, "", test=np.arange(30, 40))
    records = [r for r, _ in cross_validate(split, TINY, rule="official", seeds=[0, 1])]
    assert [(r.seed, r.fold, r.n_folds) for r in records] == [(0, 0, 1), (1, 0, 1)]
    assert records[0].test == list(range(30, 40))


def test_unknown_rule(corpus: Corpus) -> None:
    with pytest.raises(ConfigError, match="random, grouped, official"):
        make_folds(corpus, "loo", 10, 0, [])


def test_a_record_that_names_no_system_is_adasents(corpus: Corpus, tmp_path: Path) -> None:
    record, _ = next(cross_validate(corpus, TINY, n_folds=2))
    older = replace(record, spec={n: v for n, v in record.spec.items() if n != "system"})
    out = tmp_path / "r.jsonl"
    append_record(out, older)
    runs = cross_validate(corpus, TINY, n_folds=2, out=out)
    assert [is_new for _, is_new in runs] == [False, True]


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the records are not shipped here")
def test_committed_records_are_recognised() -> None:
    records = [record for path in sorted(RESULTS.glob("*.jsonl")) for record in read_records(path)]
    assert len(records) > 10
    for record in records:
        said = UNSAID | record.spec
        settings = {n: v for n, v in said.items() if n not in ("vectors", "system")}
        spec = crossval._spec("adasent", AdaSentClassifier(**settings), {})
        spec["vectors"] = record.spec["vectors"]  # the files are not at hand
        # A setting that came later belongs into records.UNSAID, with how these were made.
        assert replace(record, spec=spec).key == record.key


def test_a_system_without_epochs(corpus: Corpus) -> None:
    records = [r for r, _ in cross_validate(corpus, {"alpha": 0.5}, system="mnb", n_folds=2)]
    for record in records:
        assert record.spec == {
            "system": "mnb",
            "alpha": 0.5,
            "max_ngram": 2,
            "max_words": 2000,
            "tokenizer": "words",
        }
        assert (record.n_train, record.n_valid, record.n_test) == (20, 0, 20)
        assert (record.history, record.best_epoch, record.device) == ([], 0, "cpu")
        assert {"scikit-learn", "numpy"} < set(record.versions)
        assert (record.n_threads, record.n_together) == (1, 1)
        assert record.accuracy == 1.0  # their words give the reviews away


def test_networks_are_trained_as_one_and_others_one_by_one(corpus: Corpus) -> None:
    small = {"vector_size": 8, "epochs": 1}
    networks = [r for r, _ in cross_validate(corpus, small, system="cbow", n_folds=2, stack=2)]
    assert networks[0].n_together == 2
    others = [r for r, _ in cross_validate(corpus, {}, system="nbsvm", n_folds=2, stack=2)]
    assert (others[0].device, others[0].n_together) == ("cpu", 1)


def test_vectors_for_a_system_that_reads_none(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mnb reads no word vectors"):
        next(cross_validate(corpus, {}, system="mnb", vectors={"v": tmp_path / "v.bin"}))


def test_trees_come_from_a_parser_that_has_not_seen_the_texts(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def fit(examples: Any) -> SpanParser:
        seen.extend(" ".join(tokens) for tokens, _ in examples)
        return SpanParser(np.zeros(N_ROWS))

    own = " ".join(f"(X {word})" for word in corpus.texts[1].split())
    bank = Treebank(parse_trees(f"(S {own}) (S (X quite) (A (X another) (X one)))"))
    monkeypatch.setattr("adasent.data.span_parser.treebank", lambda: bank)
    monkeypatch.setattr(SpanParser, "fit", fit)
    tiny = {"vector_size": 8, "hidden_size": 4, "epochs": 1}
    records = [r for r, _ in cross_validate(corpus, tiny, system="mv-recnn", n_folds=2)]
    assert seen == ["quite another one"]
    assert records[0].spec["parser"] == "span parser fitted on other texts"
