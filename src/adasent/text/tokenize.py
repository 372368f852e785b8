"""Cuts a string into tokens; the default loses nothing but white space.

Two tokenizers are named, `words` (the default) and `kim` (the cleaning of Kim 2014 that the
benchmarks use); any other callable from a string to a list of strings is accepted in their place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from adasent.errors import ConfigError, DataError, nearest

Tokenizer = Callable[[str], list[str]]

_APOSTROPHES = "'’‘ʼ＇"
_STRAIGHTEN = str.maketrans(dict.fromkeys(_APOSTROPHES, "'"))

# Emoji and pictographs. A sequence joined by ZWJ, coloured by a skin tone or ended by tags is one
# token; two regional indicators are one flag.
_EMOJI = "\u2190-\u21ff\u2300-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_EMOJI_SUFFIX = "\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"

# Scripts written without spaces: each character is a token, or a sentence would be a single one.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


@cache
def word_pattern() -> re.Pattern[str]:
    """The expression whose successive matches are the tokens of `words`, before lower-casing.

    The spans of its matches are the character offsets of the tokens in the original text.
    """
    # Python's \w leaves out combining marks: without them "e" + U+0301 would be two tokens.
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c))[0] == "M")
    joiners = "\u200c\u200d"
    letter = rf"[^\W_{_UNSPACED}]"
    apostrophe = f"[{_APOSTROPHES}]"
    end = rf"(?![^\W_]|[{marks}])"
    # Beside Kim's: 'm, which every vector file has while "i'm" is rare, and the 't of "don 't".
    suffix = rf"{apostrophe}(?:s|re|ll|d|ve|m|t){end}"
    negation = rf"n{apostrophe}t{end}"
    # Possessive: a token of ten million letters takes one pass and no backtracking memory.
    run = rf"{letter}(?:(?!{negation})(?:{letter}|[{marks}{joiners}]))*+"
    alternatives = (
        rf"{negation}|{suffix}",
        rf"{run}(?:(?!{suffix}){apostrophe}{run})*+",
        r"[\U0001f1e6-\U0001f1ff]{2}",
        rf"[{_EMOJI}][{_EMOJI_SUFFIX}]*+(?:\u200d[{_EMOJI}][{_EMOJI_SUFFIX}]*+)*+",
        rf"[(),!?{_UNSPACED}]",
        r"(\S)\1*+",
    )
    return re.compile("|".join(alternatives), re.IGNORECASE)


def words(text: str) -> list[str]:
    """Split a text into lower-cased tokens and drop nothing but white space.

    English clitics are split as Kim (2014) splits them (``do n't``, ``it 's``), whether the
    apostrophe is straight or curly; curly single quotes come out straight. Other punctuation
    stands alone, a run of one repeated mark such as ``...`` is one token (but each of ``( ) , ! ?``
    is its own), and an emoji sequence is one token.
    """
    tokens: list[str] = []
    for chunk in text.split():  # no token has white space in it
        tokens.extend(_known(chunk) if len(chunk) <= REMEMBERED else split_chunk(chunk))
    return tokens


#: Longest piece between white space that is remembered; longer ones hardly come again.
REMEMBERED = 40


@lru_cache(maxsize=2**16)
def _known(chunk: str) -> tuple[str, ...]:
    return tuple(split_chunk(chunk))


def split_chunk(chunk: str) -> list[str]:
    """Tokens that `words` makes of a text without white space; it has at least one character."""
    if chunk.isascii() and (chunk.isalnum() or len(chunk) == 1):
        return [chunk.lower()]  # what the expression would find, sooner
    tokens = [match.group().lower() for match in word_pattern().finditer(chunk)]
    if chunk.isascii():
        return tokens
    return [token.translate(_STRAIGHTEN) for token in tokens]


# A word ends where one of Kim's clitics begins, even in the middle of letters, as in his code.
_KIM = re.compile(r"[(),!?]|[A-Za-z0-9'`](?:(?!n't|'(?:s|ve|re|d|ll))[A-Za-z0-9'`])*+")


def kim(text: str) -> list[str]:
    """Split a text as Kim (2014) cleans it: ASCII letters, digits and a few marks, lower-cased.

    The marks are brackets, comma, ``!``, ``?``, apostrophe and backtick. Every other character
    separates tokens and is lost, full stops and accented letters included.
    Clitics are only recognised in lower case, as in the original: ``DON'T`` stays whole. Brackets
    are plain ``(`` and ``)``.
    """
    return [match.group().lower() for match in _KIM.finditer(text)]


class Expression(NamedTuple):
    """What a tokenizer is, for those who have no Python: `re`'s matches, one after the other.

    Each is lower-cased, and then every character of ``apostrophes`` in it made a straight one.
    """

    pattern: str
    ignore_case: bool
    apostrophes: str


def expression_of(name: str) -> Expression | None:
    """The expression of a named tokenizer; None of one of the user's own."""
    if name == "words":
        return Expression(word_pattern().pattern, True, _APOSTROPHES)
    return Expression(_KIM.pattern, False, "") if name == "kim" else None


TOKENIZERS: dict[str, Tokenizer] = {"words": words, "kim": kim}


def get_tokenizer(tokenizer: str | Tokenizer) -> Tokenizer:
    """The tokenizer of that name, or the callable itself."""
    if isinstance(tokenizer, str):
        if tokenizer not in TOKENIZERS:
            hint = nearest(tokenizer, TOKENIZERS)
            raise ConfigError(
                f"tokenizer: expected a known name or a callable, got {tokenizer!r}{hint}"
            )
        return TOKENIZERS[tokenizer]
    if not callable(tokenizer):
        raise ConfigError(
            f"tokenizer: expected one of {', '.join(map(repr, TOKENIZERS))} or a callable from str "
            f"to list of str, got {type(tokenizer).__name__}"
        )
    return tokenizer


def tokenizer_name(tokenizer: str | Tokenizer) -> str:
    """The name under which a tokenizer is saved: ``"words"``, ``"kim"`` or ``"custom"``."""
    function = get_tokenizer(tokenizer)
    return next((name for name, known in TOKENIZERS.items() if known is function), "custom")


def run_tokenizer(tokenizer: Tokenizer, text: str) -> list[str]:
    """Apply a tokenizer and check that it gave a list of strings."""
    tokens: Any = tokenizer(text)
    if not isinstance(tokens, list):
        got = type(tokens).__name__
    elif all(isinstance(token, str) for token in tokens):
        return tokens
    else:
        wrong = next(token for token in tokens if not isinstance(token, str))
        got = f"a list holding {type(wrong).__name__}"
    name = getattr(tokenizer, "__name__", type(tokenizer).__name__)
    raise DataError(f"tokenizer {name}: expected a list of str for each text, got {got}")
