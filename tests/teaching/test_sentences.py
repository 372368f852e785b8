"""What passes of a stream of texts, what is dropped, and that everything is counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from adasent.teaching.sentences import (
    Counts,
    Sieve,
    clean,
    key_of,
    read_texts,
    split_long,
    split_sentences,
)
from adasent.text.tokenize import words


def test_each_is_counted_once_and_the_rest_pass_in_order() -> None:
    sieve = Sieve(
        words, held_back=["Held back."], labelled=["known text", "held back"], max_words=5
    )
    given = [
        "a new one", "", " \t", "HELD  back", "known text!", "A new one .", "1 2 3 4 5 6",
        "another", "a\x00new\x00one", "🎉", " 🎉", "x",
    ]  # fmt: skip
    assert list(sieve(given)) == ["a new one", "another", "🎉", "x"]
    assert sieve.counts == Counts(
        read=12, empty=2, long=1, held_back=1, labelled=1, repeated=3, kept=4
    )
    assert sum(sieve.counts.to_dict().values()) == 2 * 12  # read, and what became of each


def test_sentences_that_came_before_are_remembered() -> None:
    sieve = Sieve(words)
    assert list(sieve(["one"])) == ["one"]
    assert list(sieve(["One.", "two"])) == ["two"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b\r\nc\x85d", "a b c d"),
        ("  a \u2003 b ", "a b"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("\ufeffmark", "mark"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_keys_are_of_words_and_of_marks_where_there_are_none() -> None:
    assert key_of(["a", "b", "."]) == key_of(["a", "b"])
    assert len({key_of(t) for t in (["ab"], ["a", "b"], ["b", "a"], ["!"], ["?"], [])}) == 6
    assert 0 <= key_of(["a"]) < 2**64


def test_paragraphs_become_sentences() -> None:
    text = (
        'Mr. A. Bell came. "Did he?" he asked! It cost 3.5 dollars... Then e.g. this '
        "ended.\nno capital. so no end"
    )
    assert split_sentences(text) == [
        "Mr. A. Bell came.",
        '"Did he?" he asked!',
        "It cost 3.5 dollars...",
        "Then e.g. this ended.\nno capital. so no end",
    ]
    assert split_sentences("") == [""]


def test_files_of_every_kind_and_long_lines(tmp_path: Path) -> None:
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(b"Short. Line.\nOne is here. Two is there. And three.\n\n"))
    table = tmp_path / "b.csv"
    table.write_text("text,other\nfrom a table,x\n")
    found = split_long(read_texts([packed, str(table)]), tokenizer=words, max_words=6)
    assert list(found) == [
        "Short. Line.", "One is here.", "Two is there.", "And three.", "", "from a table",
    ]  # fmt: skip


def test_a_line_of_two_thousand_words_without_an_end_is_dropped_and_counted() -> None:
    sieve = Sieve(words, max_words=40)
    assert list(sieve(split_sentences("word " * 2000))) == []
    assert sieve.counts.long == 1
