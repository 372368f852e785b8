"""What a user passes in becomes strings, tokens and ids, or an error that names the place."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pandas as pd
import pytest

from adasent.errors import AdaSentWarning, DataError
from adasent.text import encoder as module
from adasent.text.encoder import TextEncoder, check_texts, tokenise
from adasent.text.tokenize import word_pattern, words
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


#: What tokenizers stumble over: NUL, all of ASCII, quotes, marks, joiners, emoji, flags, scripts
#: without spaces, letters that change their number in lower case, surrogates.
ODD = [
    *map(chr, range(128)),
    *"’‘ʼ＇éßſKİǅ\u0301\u200c\u200d\ufe0f\u20e3\u00a0\u2028\u3000中のﬁ٣Ⅷ",
    *"😀👍\U0001f3fd🇩🇪❤\ud800\udfff",
    *[
        "n't",
        "N'T",
        "'s",
        "'ll",
        "don't",
        " ",
        "  ",
        "film",
        "Film",
        "a1",
        "...",
        "<unk>",
        "x" * 50,
    ],
]


def odd_texts(n: int) -> list[str]:
    rng = random.Random(0)
    return ["".join(rng.choices(ODD, k=rng.randrange(12))) for _ in range(n)]


def by_expression(text: str) -> list[str]:
    """What the documentation of `words` says, without the short cuts."""
    tokens = [match.group().lower() for match in word_pattern().finditer(text)]
    return [token.translate(str.maketrans("’‘ʼ＇", 4 * "'")) for token in tokens]


def test_short_cuts_change_no_token_and_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*odd_texts(3000), *map(chr, range(0x2600))]
    expected = [by_expression(text) for text in texts]
    assert [words(text) for text in texts] == expected
    known = sorted({token for tokens in expected for token in tokens if token != "<unk>"})[::2]
    vocabulary = Vocabulary(known)
    monkeypatch.setattr(module, "_MAX_CHUNKS", 100)  # it is forgotten many times
    encoder = TextEncoder(words, vocabulary, max_words=7)
    plain = TextEncoder(by_expression, vocabulary, max_words=7)
    for _ in range(2):  # met for the first time, and again
        with pytest.warns(AdaSentWarning) as fast:
            found = encoder(texts)
        with pytest.warns(AdaSentWarning) as slow:
            wanted = plain(texts)
        assert [str(one.message) for one in fast] == [str(one.message) for one in slow]
        assert fast[0].filename == slow[0].filename == __file__
        for ids, other in zip(found, wanted, strict=True):
            assert ids.dtype == other.dtype
            np.testing.assert_array_equal(ids, other)


def test_no_texts_no_ids() -> None:
    assert TextEncoder(words, Vocabulary(["one"]), max_words=7)([]) == []


def test_an_encoder_is_sent_without_what_it_remembers() -> None:
    encoder = TextEncoder(words, Vocabulary(["one", "two"]), max_words=7)
    before = len(pickle.dumps(encoder))
    assert [ids.tolist() for ids in encoder(["one two", "two"])] == [[2, 3], [3]]
    sent = pickle.loads(pickle.dumps(encoder))  # noqa: S301  our own bytes
    assert len(pickle.dumps(sent)) == before
    assert [ids.tolist() for ids in sent(["one two"])] == [[2, 3]]
