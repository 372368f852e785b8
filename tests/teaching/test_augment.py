"""Texts made of texts: by the seed, of the given words, endless."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError
from adasent.teaching.augment import WAYS, augment, cut_phrases, cut_span, drop_words, join_parts

TEXTS = ["one two three four", "five six", "seven"]


def made(ways: list[str], n: int = 200, seed: int = 0) -> list[str]:
    return list(islice(augment(TEXTS, ways, seed=seed), n))


@pytest.mark.parametrize("way", WAYS)
def test_the_seed_decides(way: str) -> None:
    assert made([way]) == made([way])
    assert made([way]) != made([way], seed=1)
    assert all(text for text in made([way]))


def test_words_are_left_out_and_stay_in_order() -> None:
    split = [text.split() for text in TEXTS]
    rng = np.random.default_rng(0)
    for _ in range(100):
        found = drop_words(split, rng)
        whole = next(words for words in split if found[0] in words)
        assert found == [word for word in whole if word in found]


def test_spans_are_of_one_text_and_of_every_length() -> None:
    split = [TEXTS[0].split()]
    rng = np.random.default_rng(0)
    found = {" ".join(cut_span(split, rng)) for _ in range(200)}
    assert len(found) == 10  # all there are of four words
    assert all(text in TEXTS[0] for text in found)


def test_a_beginning_and_an_end_are_joined() -> None:
    split = [text.split() for text in TEXTS]
    rng = np.random.default_rng(0)
    for _ in range(100):
        found = join_parts(split, rng)
        assert found[0] in {words[0] for words in split}
        assert found[-1] in {words[-1] for words in split}


def test_ways_are_mixed() -> None:
    assert made(["span", "join"]) != made(["span"])


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_nothing_to_make_texts_of(texts: list[str]) -> None:
    with pytest.raises(DataError, match="expected texts with words"):
        next(augment(texts, ["span"], seed=0))


def test_an_unknown_way() -> None:
    with pytest.raises(ConfigError, match="did you mean 'span'"):
        next(augment(TEXTS, ["spam"], seed=0))


def test_phrases_are_as_long_as_the_texts() -> None:
    sentences = ["a short one", "one two three four five six seven eight nine", ""]
    found = list(cut_phrases(sentences * 50, ["x y", "x y z"], longest=3, seed=0))
    assert found[::3] == ["a short one"] * 50
    assert {len(text.split()) for text in found[1::3]} == {2, 3}
    assert all(text in sentences[1] for text in found[1::3])
    assert found[2::3] == [""] * 50
