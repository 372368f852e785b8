"""Texts -> ids: the checks on what a user passes in, the tokenizer and the vocabulary, together."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from adasent.errors import AdaSentWarning, DataError
from adasent.text.tokenize import Tokenizer, run_tokenizer
from adasent.text.vocabulary import Vocabulary


def check_texts(texts: Any) -> list[str]:
    """A list of strings from a list, tuple, array or Series of strings.

    Raises
    ------
    DataError
        For a single string, for anything with more than one column, and for a member that is
        not a string (None and NaN among them), naming its position.
    """
    if isinstance(texts, str | bytes):
        raise DataError(
            f"expected a list of texts, got a single {type(texts).__name__}; "
            "wrap it in a list: [text]"
        )
    if getattr(texts, "ndim", 1) != 1:
        raise DataError(
            f"expected one column of texts, got an array of shape {texts.shape}; "
            "pass a list of strings or one column of the table"
        )
    if not isinstance(texts, Iterable):
        raise DataError(f"expected a list of texts, got {type(texts).__name__}")
    checked = list(texts)
    wrong = [i for i, text in enumerate(checked) if not isinstance(text, str)]
    if wrong:
        first = checked[wrong[0]]
        raise DataError(
            f"expected strings, got {reprlib.repr(first)} ({type(first).__name__}) "
            f"at position {wrong[0]}"
            f"{f' and {len(wrong) - 1} more' if len(wrong) > 1 else ''}; "
            "drop these rows or fill them with a text"
        )
    # numpy's own string type is a subclass of str; make it plain.
    return [str(text) for text in checked]


class TextEncoder:
    """Tokenise, cut at ``max_words`` and look up ids.

    A text without any token becomes one unknown word. Both cases are counted and warned of once
    a call: nothing is lost silently.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: Vocabulary, max_words: int) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.max_words = max_words

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """(T,) ids for each text, never empty."""
        tokenised = tokenise(texts, self.tokenizer, self.max_words)
        return [self.vocabulary.encode(tokens) for tokens in tokenised]


def tokenise(texts: Sequence[str], tokenizer: Tokenizer, max_words: int) -> list[list[str]]:
    """Tokens of each text, at most ``max_words``, with one counted warning for what was unusual."""
    return cut([run_tokenizer(tokenizer, text) for text in texts], max_words, stacklevel=4)


def cut(tokenised: list[list[str]], max_words: int, *, stacklevel: int = 3) -> list[list[str]]:
    """The second half of :func:`tokenise`, for tokens that are there already."""
    long = sum(len(tokens) > max_words for tokens in tokenised)
    empty = sum(not tokens for tokens in tokenised)
    notes = []
    if long:
        notes.append(f"{long} longer than max_words={max_words}, cut there")
    if empty:
        notes.append(f"{empty} without a word, read as one unknown word")
    if notes:
        given = "1 text" if len(tokenised) == 1 else f"{len(tokenised)} texts"
        warnings.warn(f"of {given}: {'; '.join(notes)}", AdaSentWarning, stacklevel=stacklevel)
    return [tokens[:max_words] for tokens in tokenised]
