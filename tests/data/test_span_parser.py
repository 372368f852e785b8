"""The parser learns a grammar it can learn, needs no more than its weights, and is repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.data.span_parser import N_ROWS, SpanParser, parse_texts
from adasent.data.trees import Treebank, binary_heights, parse_trees, right_branching
from adasent.errors import DataError

NOUNS = ["film", "plot", "cast", "scene"]
VERBS = ["saw", "liked", "hated"]

#: Knows nothing, so that the first gap always wins: right-branching.
PARSER = SpanParser(np.zeros(N_ROWS))
BANK = Treebank(parse_trees("(S (A (X a) (X good)) (X film))"))
TEXTS = ["A good film!", "a bad film", ""]
TOKENS = [["a", "good", "film"], ["a", "bad", "film"], []]


def sentences(n: int, seed: int) -> list[tuple[list[str], np.ndarray]]:
    """((the noun) (verb (a noun))), half of them with an adjective at each noun."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        subject, thing, verb = rng.choice(NOUNS), rng.choice(NOUNS), rng.choice(VERBS)
        if rng.random() < 0.5:
            tokens = ["the", subject, verb, "a", thing]
            depths = [2, 1, 2, 3]
        else:
            tokens = ["the", "dull", subject, verb, "a", "fine", thing]
            depths = [2, 3, 1, 2, 3, 4]
        made.append(([str(token) for token in tokens], binary_heights(np.array(depths))))
    return made


@pytest.fixture(scope="module")
def parser() -> SpanParser:
    return SpanParser.fit([*sentences(150, 0), (["two", "words"], right_branching(2))])


def test_learns_where_phrases_end(parser: SpanParser) -> None:
    for tokens, heights in sentences(20, 1):
        assert parser(tokens).tolist() == heights.tolist()


def test_repeatable_and_whole_in_its_weights(parser: SpanParser) -> None:
    again = SpanParser.fit(sentences(150, 0))
    assert np.array_equal(parser.weights, again.weights)
    tokens = ["a", "film", "the", "cast", "liked", "the", "dull", "plot", "a", "scene"]
    loaded = SpanParser(parser.weights.astype(np.float64))
    assert loaded(tokens).tolist() == parser(tokens).tolist()


def test_any_text_gets_a_tree(parser: SpanParser) -> None:
    assert parser([]).tolist() == parser(["film"]).tolist() == [0]
    assert parser(["never", "heard"]).tolist() == [1, 0]
    tokens = ["日本", "", "film"] * 50
    heights = parser(tokens)
    assert heights.shape == (150,)
    assert heights[-1] == 0
    assert (heights[:-1] > 0).all()


def test_nothing_to_learn_from_and_foreign_weights() -> None:
    with pytest.raises(DataError, match="three words or more, got none"):
        SpanParser.fit([(["two", "words"], right_branching(2))])
    with pytest.raises(DataError, match=f"expected {N_ROWS} weights, got .*\\(3,\\)"):
        SpanParser(np.zeros(3))


def test_treebank_first_then_the_parser() -> None:
    heights = parse_texts(TEXTS, TOKENS, PARSER, BANK)
    assert [tree.tolist() for tree in heights] == [[1, 2, 0], [2, 1, 0], [0]]


def test_parser_alone() -> None:
    heights = parse_texts(TEXTS, TOKENS, PARSER)
    assert [tree.tolist() for tree in heights] == [[2, 1, 0], [2, 1, 0], [0]]
