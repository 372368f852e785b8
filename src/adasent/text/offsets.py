"""Finds the characters of a text that each of its tokens came from."""

from __future__ import annotations

import string
from collections.abc import Sequence

from adasent.text.tokenize import Tokenizer, word_pattern, words

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

Offsets = tuple[tuple[int, int], ...]
"""For each token, where it starts in the text and where it ends."""


def token_offsets(text: str, tokens: Sequence[str], tokenizer: Tokenizer) -> Offsets:
    """Where each token stands in the text.

    Exact for the named tokenizers. For a tokenizer of the user's, each token is looked for after
    the one before, in the text in lower case and then as it is; one that the tokenizer made up
    stands nowhere, an empty range after its predecessor.

    Parameters
    ----------
    tokens
        The first tokens that ``tokenizer`` gave for ``text``.
    """
    # One that only watches another (:class:`adasent.cli.models.Counting`) says whose tokens it has.
    tokenizer = getattr(tokenizer, "same_tokens_as", tokenizer)
    if tokenizer is words:
        matches = zip(word_pattern().finditer(text), tokens, strict=False)
        return tuple(match.span() for match, _ in matches)
    # Only ASCII is lower-cased: beyond it, a character may become two. `kim` knows ASCII alone, and
    # keeps every character that can be part of a token, so the next match is the right one.
    lowered = text.translate(_LOWER)
    found, end = [], 0
    for token in tokens:
        start = lowered.find(token, end)
        if start < 0:
            start = text.find(token, end)
        if start < 0:
            start = end
        else:
            end = start + len(token)
        found.append((start, end))
    return tuple(found)
