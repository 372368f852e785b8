"""Tokens are found at the characters they came from."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adasent.text.offsets import token_offsets
from adasent.text.tokenize import kim, words

TEXTS = [
    "Don't  stop\tnow!",
    "caf\u0065\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 ok \U0001f1e9\U0001f1ea.",
    "<script>alert('x')</script>",
    "\u0130stanbul K\u212a k ISN'T \u00c9t\u00e9",
    "it\u2019s \u201cfine\u201d ... (really)",
    "na\u00efve caf\u00e9\u2014bar\x00\x85end",
]
_STRAIGHT = str.maketrans(dict.fromkeys("’‘ʼ＇", "'"))
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def check_words(text: str) -> None:
    tokens = words(text)
    found = token_offsets(text, tokens, words)
    assert [text[s:e].lower().translate(_STRAIGHT) for s, e in found] == tokens


def check_kim(text: str) -> None:
    tokens = kim(text)
    found = token_offsets(text, tokens, kim)
    assert [text[s:e].translate(_LOWER) for s, e in found] == tokens
    # Nothing that could be part of a token lies between them.
    kept = set(string.ascii_letters + string.digits + "'`(),!?")
    gaps = [s for s, _ in found] + [len(text)], [0] + [e for _, e in found]
    assert not any(kept & set(text[e:s]) for s, e in zip(*gaps, strict=True))


@pytest.mark.parametrize("text", TEXTS)
def test_named_tokenizers_map_back_exactly(text: str) -> None:
    check_words(text)
    check_kim(text)


@given(st.text(st.characters() | st.sampled_from("aAnN'T’ \t(\u0301\U0001f600\u212a\u0130")))
def test_named_tokenizers_map_back_whatever_the_text(text: str) -> None:
    check_words(text)
    check_kim(text)


def test_the_first_tokens_of_a_cut_text() -> None:
    assert token_offsets("a b c d", ["a", "b"], words) == ((0, 1), (2, 3))


def test_a_tokenizer_of_the_users() -> None:
    def stems(text: str) -> list[str]:
        return [word[:4] for word in text.split()] + ["<end>"]

    text = "Going home Étude"
    assert token_offsets(text, ["goin", "home", "Étud", "<end>"], stems) == (
        (0, 4),
        (6, 10),
        (11, 15),
        (15, 15),
    )
