import pytest
from hypothesis import given
from hypothesis import strategies as st

from adasent.errors import ConfigError, DataError
from adasent.text.tokenize import (
    TOKENIZERS,
    get_tokenizer,
    kim,
    run_tokenizer,
    tokenizer_name,
    word_pattern,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't, CAN'T won’t ain't", "do n't , ca n't wo n't ai n't"),
        ("It's we're I'll he'd they've I'm", "it 's we 're i 'll he 'd they 've i 'm"),
        ("it’s shouldn't've", "it 's should n't 've"),
        ("do n't 's don 't", "do n't 's don 't"),
        ("O'Brien's rock'n'roll c'mon y'all'd", "o'brien 's rock'n'roll c'mon y'all 'd"),
        ("o'don't", "o'do n't"),
        ("the lakes' 'tis 'quoted'", "the lakes ' ' tis ' quoted '"),
        ("don'ts n'th", "don'ts n'th"),
        ("well-made, 3.5 stars ($1,000)", "well - made , 3 . 5 stars ( $ 1 , 000 )"),
        ("so... good -- !!", "so ... good -- ! !"),
        ("a_b __init__", "a _ b __ init __"),
        ("not bad: 10/10", "not bad : 10 / 10"),
        ("naïve cafe\u0301 नमस्ते", "naïve cafe\u0301 नमस्ते"),
        ("好看的 film", "好 看 的 film"),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words(text) == expected.split(" ")


def test_an_emoji_sequence_is_one_token() -> None:
    family, thumb, flag, smile = "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "☺\ufe0f"
    assert words(f"{family}{thumb}{thumb} {flag}🇫🇷{smile}") == [
        family,
        thumb,
        thumb,
        flag,
        "🇫🇷",
        smile,
    ]


def test_odd_characters_are_kept() -> None:
    assert words("a\x00b \ud800\ud800 \u0301") == ["a", "\x00", "b", "\ud800\ud800", "\u0301"]


@pytest.mark.parametrize("text", ["", " \t\n\x85\u3000"])
def test_white_space_has_no_tokens(text: str) -> None:
    assert words(text) == []
    assert kim(text) == []


@given(st.text(st.characters(exclude_categories=())))
def test_words_loses_nothing_but_white_space(text: str) -> None:
    spans = [match.span() for match in word_pattern().finditer(text)]
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())
    assert [text[start:end].lower() for start, end in spans] == [
        match.group().lower() for match in word_pattern().finditer(text)
    ]
    assert len(words(text)) == len(spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't it's they'RE", "do n't it 's they're"),
        ("well-made, (3.5) café!?", "well made , ( 3 5 ) caf ! ?"),
        ("It 's ``quoted'' 'scream", "it 's ``quoted'' 'scream"),
        ("couldn't've he'd we'll", "could n't 've he 'd we 'll"),
        ("it'sx dn'ta", "it 'sx d n'ta"),
    ],
)
def test_kim(text: str, expected: str) -> None:
    assert kim(text) == expected.split(" ")


@pytest.mark.parametrize(
    ("text", "n_words", "n_kim"),
    [
        ("a" * 10**7, 1, 1),
        ("'" * 10**6, 1, 1),
        ("an't" * 10**6, 2, 10**6 + 1),
        ("e" + "\u0301" * 10**6, 1, 1),
        ("😂\u200d" * 10**6 + "😂", 1, 0),
    ],
    ids=["letters", "apostrophes", "clitics", "marks", "joined emoji"],
)
def test_one_token_of_megabytes(text: str, n_words: int, n_kim: int) -> None:
    # Under a second each; an expression that backtracks would take hours or all memory.
    assert len(words(text)) == n_words
    assert len(kim(text)) == n_kim


def test_tokenizers_by_name() -> None:
    assert get_tokenizer("words") is words
    assert get_tokenizer("kim") is kim
    assert get_tokenizer(str.split) is str.split
    assert {name: tokenizer_name(function) for name, function in TOKENIZERS.items()} == {
        "words": "words",
        "kim": "kim",
    }
    assert tokenizer_name("kim") == "kim"
    assert tokenizer_name(str.split) == "custom"


def test_unknown_tokenizers_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'words'"):
        get_tokenizer("word")
    with pytest.raises(ConfigError, match="callable from str to list of str, got int"):
        get_tokenizer(3)  # type: ignore[arg-type]


def test_run_tokenizer_checks_the_result() -> None:
    assert run_tokenizer(str.split, "a b") == ["a", "b"]
    with pytest.raises(DataError, match=r"<lambda>: expected a list of str.*got tuple"):
        run_tokenizer(lambda text: ("a",), "a")  # type: ignore[arg-type,return-value]
    with pytest.raises(DataError, match="got a list holding int"):
        run_tokenizer(lambda text: ["a", 3], "a")  # type: ignore[list-item]
