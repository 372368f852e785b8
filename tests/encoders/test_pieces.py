"""Word pieces become words by the characters they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.encoders.pieces import Marks, PieceReader, Reading
from adasent.errors import ConfigError
from adasent.text.passage import EMPTY, Passage
from adasent.text.tokenize import kim, words


class Case:
    """A reader, and the pieces of words by name."""

    def __init__(self, tokenizer: Any, n_positions: int = 40) -> None:
        self.tokenizer = tokenizer
        self.reader = PieceReader.of(tokenizer, n_positions)

    def read(self, passage: Passage) -> tuple[list[list[str]], Reading]:
        (reading,) = self.reader([passage])
        found = []
        for window in reading.windows:
            assert len(window.pieces) <= self.reader.marks.limit
            assert window.counts.min() > 0
            stops = np.cumsum(window.counts)
            for stop, n in zip(stops, window.counts, strict=True):
                ids = window.pieces[window.members[stop - n : stop]]
                found.append(self.tokenizer.convert_ids_to_tokens(ids.tolist()))
        assert len(found) == len(passage)
        return found, reading

    def words(self, text: str) -> list[list[str]]:
        return self.read(Passage(text, words(text)))[0]


@pytest.fixture(scope="module")
def case(encoder_folder: Path) -> Case:
    from transformers import AutoTokenizer

    return Case(AutoTokenizer.from_pretrained(encoder_folder))


def test_by_hand(case: Case) -> None:
    # Our words do, n't | the encoder's don, ', t: "don" has characters of both.
    assert case.words("Don't") == [["don"], ["don", "'", "t"]]
    assert case.words("unbelievable film!") == [["un", "##believ", "##able"], ["film"], ["!"]]
    assert case.words("the ... plot?!") == [["the"], [".", ".", "."], ["plot"], ["?"], ["!"]]


def test_accents_emoji_and_characters_that_are_dropped(case: Case) -> None:
    text = "caf\u0065\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 \x00 na\u00efve \ud800"
    tokens = words(text)
    found, reading = case.read(Passage(text, tokens))
    assert found == [["cafe"], ["[UNK]"], ["[UNK]"], ["n", "##a", "##i", "##v", "##e"], ["[UNK]"]]
    # The NUL byte and half a surrogate pair; the emoji the tokenizer calls unknown itself.
    assert reading.n_unread == 2


def test_words_without_a_piece_stand_in_their_place(case: Case) -> None:
    text = "\x00 good \x00\x00 film \x01"
    found, reading = case.read(Passage(text, words(text)))
    assert found == [["[UNK]"], ["good"], ["[UNK]"], ["film"], ["[UNK]"]]
    assert reading.n_unread == 3
    names = case.tokenizer.convert_ids_to_tokens(reading.windows[0].pieces.tolist())
    assert names == ["[CLS]", "[UNK]", "good", "[UNK]", "film", "[UNK]", "[SEP]"]


def test_what_a_tokenizer_made_up_is_unknown(case: Case) -> None:
    def tagged(text: str) -> list[str]:
        return ["<begin>", *text.split()]

    found, reading = case.read(Passage("good film", tagged("good film"), tagged))
    assert found == [["[UNK]"], ["good"], ["film"]]
    assert reading.n_unread == 1


def test_marks_that_our_tokenizer_loses_are_still_read(case: Case) -> None:
    found, reading = case.read(Passage("good. film", kim("good. film"), kim))
    assert found == [["good"], ["film"]]
    assert len(reading.windows[0].pieces) == 5


def test_a_text_without_words_is_all_that_is_read_of_it(case: Case) -> None:
    assert case.read(EMPTY)[0] == [["[CLS]", "[SEP]"]]
    assert case.read(Passage("...", [], kim))[0] == [["[CLS]", ".", ".", ".", "[SEP]"]]


@pytest.mark.parametrize("n", [1, 38, 39, 76, 77, 500, 2000])
def test_long_texts_are_read_in_even_windows_between_words(case: Case, n: int) -> None:
    tokens = (["film", "unbelievable", "x", "n't"] * n)[:n]
    text = " ".join(tokens)
    found, reading = case.read(Passage(text, tokens, str.split))
    expected = {"film": ["film"], "unbelievable": ["un", "##believ", "##able"], "x": ["x"]}
    for token, pieces in zip(tokens, found, strict=True):
        assert pieces == expected.get(token, pieces)
    sizes = [len(window.pieces) - 2 for window in reading.windows]
    assert sum(sizes) == len(case.tokenizer.backend_tokenizer.encode(text).ids) - 2
    assert len(sizes) <= -(-sum(sizes) // 36) + 1
    assert min(sizes) >= max(sizes) / 3
    assert reading.n_cut == 0


def test_a_word_longer_than_a_window_is_cut_and_counted(case: Case) -> None:
    text = f"good {'ab' * 40} film"
    found, reading = case.read(Passage(text, text.split(), str.split))
    assert reading.n_cut == 1
    assert [len(pieces) for pieces in found] == [1, 38, 1]
    assert found[0] == ["good"]
    assert found[2] == ["film"]


def test_an_encoder_without_room_is_refused(case: Case) -> None:
    with pytest.raises(ConfigError, match="at least one word piece"):
        PieceReader(case.tokenizer.backend_tokenizer, Marks((2,), (3,), 1, 2))
    with pytest.raises(ConfigError, match="fast tokenizer"):
        PieceReader.of(object(), 40)
