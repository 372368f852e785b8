"""What a user passes in becomes strings, tokens and ids, or an error that names the place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from adasent.errors import AdaSentWarning, DataError
from adasent.text.encoder import TextEncoder, check_texts, tokenise
from adasent.text.vocabulary import UNK_ID, Vocabulary

TEXTS = ["one", "two words"]


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS),
        (text for text in TEXTS),
    ],
)
def test_columns_of_strings(texts: object) -> None:
    checked = check_texts(texts)
    assert checked == TEXTS
    assert {type(text) for text in checked} == {str}


def test_no_texts() -> None:
    assert check_texts([]) == []


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one", r"got a single str; wrap it in a list: \[text\]"),
        (b"one", "got a single bytes"),
        (np.array([TEXTS]), r"got an array of shape \(1, 2\)"),
        (pd.DataFrame({"text": TEXTS}), r"shape \(2, 1\); pass a list of strings or one column"),
        (np.array("one"), r"shape \(\)"),
        (7, "expected a list of texts, got int"),
        (None, "expected a list of texts, got NoneType"),
        (["one", None], r"got None \(NoneType\) at position 1; drop these rows"),
        (["one", float("nan")], r"got nan \(float\) at position 1"),
        (["one", 3, None, 4], r"got 3 \(int\) at position 1 and 2 more"),
        ([b"one"], r"got b'one' \(bytes\) at position 0"),
        (pd.Series(["one", None]), "at position 1"),
        (pd.Series(["one", pd.NA], dtype="string"), "at position 1"),
        ([["one"]], r"got \['one'\] \(list\) at position 0"),
    ],
)
def test_anything_else_is_refused(texts: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_texts(texts)


def test_message_stays_short() -> None:
    with pytest.raises(DataError) as caught:
        check_texts([b"x" * 10**6])
    assert len(str(caught.value)) < 200


def test_texts_are_cut_and_counted_in_one_warning() -> None:
    with pytest.warns(AdaSentWarning) as caught:
        tokens = tokenise(["a b c", "a", "", " ", "a b c d"], str.split, 2)
    assert tokens == [["a", "b"], ["a"], [], [], ["a", "b"]]
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "of 5 texts: 2 longer than max_words=2, cut there; "
        "2 without a word, read as one unknown word"
    )


def test_encoder() -> None:
    encode = TextEncoder(str.split, Vocabulary(["good", "film"]), 3)
    assert [row.tolist() for row in encode(["good film", "odd"])] == [[2, 3], [UNK_ID]]
    with pytest.warns(AdaSentWarning, match="1 without a word"):
        assert encode([""])[0].tolist() == [UNK_ID]


def test_tokenizer_is_checked() -> None:
    with pytest.raises(DataError, match="expected a list of str"):
        TextEncoder(str.upper, Vocabulary([]), 3)(["a"])  # type: ignore[arg-type]
