"""Texts with their words, and without some of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adasent.errors import AdaSentWarning
from adasent.text.passage import EMPTY, Passage, read_passages
from adasent.text.tokenize import kim, words


def passage(text: str) -> Passage:
    return Passage(text, words(text))


def test_a_text_and_its_words() -> None:
    one = passage("Don't  stop!")
    assert one.tokens == ["do", "n't", "stop", "!"]
    assert one.offsets == ((0, 2), (2, 5), (7, 11), (11, 12))
    assert len(one) == 4
    assert len(EMPTY) == 1
    assert EMPTY.offsets == ()


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        ([1, 2, 3], "n't  stop!"),
        ([0, 2, 3], "Do stop!"),
        ([0, 1, 3], "Don't !"),
        ([0, 1, 2], "Don't  stop"),
        ([], ""),
    ],
)
def test_some_words_alone(positions: list[int], text: str) -> None:
    part = passage("Don't  stop!").take(positions)
    assert part.text == text
    assert part.tokens == [passage("Don't  stop!").tokens[i] for i in positions]


def test_neighbours_that_were_none_do_not_grow_together() -> None:
    assert passage("good,bad").take([0, 2]).text == "good bad"
    assert passage("a b c").take([2, 0, 1]).text == "c a b"


def test_the_gap_of_a_tokenizer_that_loses_marks_stays() -> None:
    one = Passage("good. Bad; film", kim("good. Bad; film"), kim)
    assert one.take([0, 1]).text == "good. Bad"
    assert one.take([0, 2]).text == "good film"


@given(st.text(st.sampled_from("aA' .,!\t\u0301\U0001f600\x00"), max_size=30), st.data())
def test_offsets_of_what_is_taken_are_its_words(text: str, data: st.DataObject) -> None:
    whole = passage(text)
    n = len(whole.tokens)
    positions = data.draw(st.permutations(range(n))) if n else []
    part = whole.take(positions[: (n + 1) // 2])
    for i, (start, end) in zip(positions, part.offsets, strict=False):
        assert part.text[start:end] == text[slice(*whole.offsets[i])]
    assert all(a[1] <= b[0] for a, b in zip(part.offsets, part.offsets[1:], strict=False))


def test_reading_texts_cuts_and_tells() -> None:
    with pytest.warns(AdaSentWarning, match="of 2 texts: 1 longer than max_words=2.*1 without"):
        found = read_passages(["a b c", ""], words, 2)
    assert [one.tokens for one in found] == [["a", "b"], []]
    assert found[0].text == "a b c"
