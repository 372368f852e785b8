"""Texts and their tokens -> binary trees: the treebank's where it may be used, else the parser's.

A treebank may hold some texts of a data set and not others, and that can give the label away: the
Stanford treebank has 4,157 sentences of SUBJ, every one of them subjective. Such a set is parsed
as a whole, by a parser that has seen none of it (:meth:`Treebank.without`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from adasent.data.fetch import fetch
from adasent.data.span_parser import SpanParser
from adasent.data.trees import Treebank, read_trees
from adasent.text.tokenize import get_tokenizer

#: Benchmarks whose own trees are used. The bank holds nearly all of MR in both classes, and about
#: half of the training questions of TREC, 47 to 55 % of each class. CR, SUBJ and MPQA are parsed.
WITH_TREEBANK = ("MR", "TREC")


class Parses(NamedTuple):
    """Trees of N texts."""

    heights: list[np.ndarray]  # one whole number a token; see adasent.data.trees
    n_found: int  # texts whose tree is the treebank's


def parse_texts(
    texts: Sequence[str],
    tokenised: Sequence[Sequence[str]],
    parser: SpanParser,
    treebank: Treebank | None = None,
) -> Parses:
    """The tree of each text over its tokens.

    Parameters
    ----------
    tokenised
        Tokens of each text, cut or not; a text without tokens counts as one word.
    treebank
        Where to look first; None parses all.
    """
    heights = []
    n_found = 0
    for text, tokens in zip(texts, tokenised, strict=True):
        found = None if treebank is None else treebank.heights(text, tokens)
        n_found += found is not None
        heights.append(parser(tokens) if found is None else found)
    return Parses(heights, n_found)


#: Registered sets of trees.
TREEBANKS = ("sst", "questionbank")


@cache
def treebank() -> Treebank:
    """The registered treebanks together; fetched when first asked for."""
    return Treebank(tree for name in TREEBANKS for path in fetch(name) for tree in read_trees(path))


@cache
def treebank_parser(tokenizer: str) -> SpanParser:
    """A parser for the tokens of a named tokenizer, from the registered treebanks; half a minute.

    It has seen all of them: to parse a set of which they hold one class more than another, fit a
    parser on :meth:`Treebank.without` its texts.
    """
    return SpanParser.fit(treebank().examples(get_tokenizer(tokenizer)))
