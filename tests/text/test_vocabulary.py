import json

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError, ModelFormatError
from adasent.text.vocabulary import PAD_ID, SPECIALS, UNK_ID, Vocabulary

TEXTS = [["b", "a", "c"], ["b", "a"], ["b", "d"]]


def test_build_orders_by_count_then_alphabet_then_extras() -> None:
    vocabulary = Vocabulary.build(TEXTS, extra=["z", "a", "y", "z"])
    assert vocabulary.words == ("<pad>", "<unk>", "b", "a", "c", "d", "z", "y")
    assert vocabulary.n_training == 6
    assert len(vocabulary) == 8


def test_rare_words_are_left_out_unless_extra() -> None:
    vocabulary = Vocabulary.build(TEXTS, min_count=2, extra=["d"])
    assert vocabulary.words == (*SPECIALS, "b", "a", "d")
    assert vocabulary.n_training == 4
    with pytest.raises(ConfigError, match="min_count: expected 1 or more, got 0"):
        Vocabulary.build(TEXTS, min_count=0)


def test_encode() -> None:
    vocabulary = Vocabulary(["a", "b"])
    ids = vocabulary.encode(["b", "x", "a"])
    assert ids.dtype == np.int64
    assert ids.tolist() == [3, UNK_ID, 2]


def test_a_text_without_tokens_is_one_unknown_word() -> None:
    assert Vocabulary(["a"]).encode([]).tolist() == [UNK_ID]


@pytest.mark.parametrize("special", SPECIALS)
def test_specials_in_user_text_are_unknown_words(special: str) -> None:
    vocabulary = Vocabulary.build([[special, special, "a"]], extra=[special, "b"])
    assert vocabulary.words == (*SPECIALS, "a", "b")
    assert vocabulary.encode([special]).tolist() == [UNK_ID]
    assert PAD_ID not in vocabulary.encode([special, "a"])
    assert special not in vocabulary


def test_membership() -> None:
    vocabulary = Vocabulary(["a"])
    assert "a" in vocabulary
    assert "b" not in vocabulary


def test_equal_by_content() -> None:
    assert Vocabulary(["a"]) == Vocabulary(["a"])
    assert hash(Vocabulary(["a"])) == hash(Vocabulary(["a"]))
    assert Vocabulary(["a", "b"]) != Vocabulary(["a", "b"], n_training=3)
    assert Vocabulary(["a"]) != ["a"]
    assert repr(Vocabulary(["a"])) == "Vocabulary(3 words, 3 seen in training)"


def test_survives_json() -> None:
    vocabulary = Vocabulary(["a", "\ud800", "\x00", "é", "👍🏽"], n_training=4)
    text = json.dumps(vocabulary.to_list())
    assert Vocabulary.from_list(json.loads(text), n_training=4) == vocabulary


@pytest.mark.parametrize("words", [["a", "a"], ["<pad>"], ["<unk>"]])
def test_repeats_are_refused(words: list[str]) -> None:
    with pytest.raises(DataError, match="expected distinct words"):
        Vocabulary(words)


def test_n_training_must_fit() -> None:
    with pytest.raises(DataError, match="n_training from 2 to 3, got 4"):
        Vocabulary(["a"], n_training=4)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1}, "expected a list of words, got dict"),
        (["<pad>", "<unk>", 3], "got int at 2"),
        (["a", "b"], "first, got \\('a', 'b'\\)"),
        ([], "first, got \\(\\)"),
        (["<pad>", "<unk>", "a", "a"], "got 'a' again"),
        (["<pad>", "<unk>", "<pad>"], "got '<pad>' again"),
    ],
)
def test_from_list_refuses_what_is_not_a_vocabulary(value: object, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        Vocabulary.from_list(value)


@pytest.mark.parametrize("n_training", [1, 4, True, "3"])
def test_from_list_checks_n_training(n_training: object) -> None:
    with pytest.raises(ModelFormatError, match="n_training"):
        Vocabulary.from_list(["<pad>", "<unk>", "a"], n_training=n_training)  # type: ignore[arg-type]
