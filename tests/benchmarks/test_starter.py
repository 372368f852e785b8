"""How the starter model is made: what its teacher is given, and what its card says."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import pytest

from adasent.estimators.starter import CARD, starter_folder
from adasent.text.tokenize import words
from benchmarks import starter, starter_card, starter_texts

SENTENCES = [
    "It was very dull, and I did not enjoy the ending at all.",
    "Never boring! This film lacks wit; it is not a bad film.",
    "A plain sentence about a very long road.",
    "Don't see it.",
]


def test_phrases_have_a_negator_and_cross_no_mark() -> None:
    many = SENTENCES * 20
    phrases = list(starter_texts.cut_negated(many, seed=0))
    assert phrases == list(starter_texts.cut_negated(many, seed=0))
    assert phrases != list(starter_texts.cut_negated(many, seed=1))
    assert len(phrases) == 60  # one of each sentence that has a negator
    inside = [" ".join(starter_texts._MARKS.sub(" | ", one.lower()).split()) for one in SENTENCES]
    inside = [one.replace("n't", " n't") for one in inside]
    for phrase in set(phrases):
        assert not starter_texts.NEGATORS.isdisjoint(phrase.split())
        assert any(phrase in one for one in inside)
        assert 2 <= len(phrase.split()) <= starter_texts.BEFORE + 1 + starter_texts.AFTER
    assert "do n't see it" in phrases


def test_words_of_frames_are_those_of_such_places() -> None:
    found = starter_texts.frame_words(SENTENCES * 2, at_least=2, n=5)
    assert found == {"adjective": ["dull"], "noun": ["wit"], "verb": ["enjoy"], "comparative": []}
    assert starter_texts.frame_words(SENTENCES, at_least=2, n=5)["noun"] == []
    made = starter_texts.framed(found)
    assert {"far from dull", "lacks wit", "i did not enjoy it"} <= set(made)
    assert len(made) == sum(
        len(starter_texts.FRAMES[kind]) for kind in ("adjective", "noun", "verb")
    )


@pytest.fixture
def args(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    more = tmp_path / "more.txt"
    more.write_text("\n".join(SENTENCES * 5 + list(starter.PROBES)), encoding="utf-8")
    line = ["starter", "--encoder", "none", "--unlabelled", str(more), "--sentences", "4"]
    monkeypatch.setattr("sys.argv", line)
    return starter.arguments()


def test_no_probe_is_taught(args: argparse.Namespace, tmp_path: Path) -> None:
    texts = [
        "a film like any other",
        "the plot is thin",
        "it is what it is , and no more than that",
    ]
    found = list(starter.extra_texts(args, texts))
    keys = {tuple(words(text)) for text in found}
    assert len(keys) == len(found)
    assert not keys & {tuple(words(probe)) for probe in starter.PROBES}
    assert "far from dull" not in found
    assert "not dull" in found
    path = tmp_path / "extra.txt.gz"
    assert starter.kept_texts(path, args, texts) == found
    assert starter.kept_texts(path, args, []) == found  # read, not made
    args.frame_words = 0
    assert "not dull" not in starter.kept_texts(path, args, texts)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        assert file.readline().startswith("[")


def record(*, positive: float) -> dict[str, object]:
    figure = {
        "model": "starter",
        "part": "all",
        "n": 2114,
        "accuracy": 81.25,
        "low": 80,
        "high": 83,
    }
    probe = {"text": "not a bad film", "label": "positive", "positive": positive}
    return {
        "set": "snippets", "unlabelled": "IMDB", "vectors": ["a", "b"], "teacher": "frozen",
        "encoder": "gte-small", "n_labelled": 8454, "n_extra": 70_000, "n_words": 24_000,
        "size": 200, "megabytes": 5.6, "figures": [figure], "probes": [probe],
    }  # fmt: skip


def test_the_card_says_what_is_wrong() -> None:
    right = starter_card.card(record(positive=0.8))
    assert "| not a bad film | positive | 0.80 | right |" in right
    assert "it gets 1." in right
    assert "gets wrong" not in right
    wrong = starter_card.card(record(positive=0.3))
    assert "| not a bad film | positive | 0.30 | wrong |" in wrong
    assert 'which it gets wrong: "not a bad film".' in wrong
    assert "it gets 0." in wrong
    assert "| starter | all | 2,114 | 81.2 | 80.0 to 83.0 |" in wrong


def test_the_card_in_the_package_says_what_the_record_says() -> None:
    import adasent

    text = (starter_folder() / CARD).read_text(encoding="utf-8")
    assert text == starter_card.card(adasent.load(starter_folder()).training_["starter"])
