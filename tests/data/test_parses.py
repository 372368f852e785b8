"""Which texts get the treebank's tree and which the parser's."""

from __future__ import annotations

import numpy as np

from adasent.data.parses import parse_texts
from adasent.data.span_parser import N_ROWS, SpanParser
from adasent.data.trees import Treebank, parse_trees

#: Knows nothing, so that the first gap always wins: right-branching.
PARSER = SpanParser(np.zeros(N_ROWS))
BANK = Treebank(parse_trees("(S (A (X a) (X good)) (X film))"))
TEXTS = ["A good film!", "a bad film", ""]
TOKENS = [["a", "good", "film"], ["a", "bad", "film"], []]


def test_treebank_first_then_the_parser() -> None:
    heights, n_found = parse_texts(TEXTS, TOKENS, PARSER, BANK)
    assert [tree.tolist() for tree in heights] == [[1, 2, 0], [2, 1, 0], [0]]
    assert n_found == 1


def test_parser_alone() -> None:
    heights, n_found = parse_texts(TEXTS, TOKENS, PARSER)
    assert [tree.tolist() for tree in heights] == [[2, 1, 0], [2, 1, 0], [0]]
    assert n_found == 0
