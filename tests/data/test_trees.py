"""Reading brackets, making trees binary, laying them over our own tokens, and finding them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adasent.data.trees import (
    Tree,
    Treebank,
    align,
    binary_heights,
    parse_trees,
    read_trees,
    right_branching,
    spans,
)
from adasent.errors import DataError
from adasent.text.tokenize import kim, words


def tree(text: str) -> Tree:
    (found,) = parse_trees(text)
    return found


def shown(tokens: list[str], heights: np.ndarray) -> str:
    """The binary tree in brackets."""
    phrase = dict(enumerate(tokens))
    nodes = sorted(spans(heights), key=lambda node: node[2] - node[0])
    for start, middle, _ in nodes:
        phrase[start] = f"({phrase[start]} {phrase[middle]})"
    return phrase[0]


def binary(text: str) -> str:
    found = tree(text)
    return shown(list(found.words), binary_heights(found.depths))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(2 (2 a) (3 (2 b) (2 c)))", "(a (b c))"),
        ("(2 (3 (2 a) (2 b)) (2 c))", "((a b) c)"),
        ("(S (NP (A a)(B b)(C c))(VP (D d)))", "((a (b c)) d)"),
        ("(S (X a) (X b) (X c) (X d))", "(a (b (c d)))"),
        ("( (S (NP (X a)) (VP (VP (X b) (X c)))) )", "(a (b c))"),
        ("(S\n  (NP (X a))\n  (VP (X b)))", "(a b)"),
        ("(ROOT (X alone))", "alone"),
        ("(S (NP (-NONE- *T*-1)) (VP (X a) (NP (-NONE- *)) (X b)))", "(a b)"),
        ("(PRN ( -LRB-)(NNS tics)( -RRB-))", "(( (tics )))"),
        ("(NP (`` ``)(NN x)('' <<))", '(" (x "))'),
        ("(2 (2 writer\\/director) (2 b))", "(writer/director b)"),
    ],
)
def test_brackets_become_binary_trees(text: str, expected: str) -> None:
    assert binary(text) == expected


def test_all_trees_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(2 (2 a) (2 café))\n(S (-NONE- 0))\n\n(X b)\n", encoding="utf-8")
    assert [found.words for found in read_trees(path)] == [("a", "café"), ("b",)]
    path.write_text("", encoding="utf-8")
    assert read_trees(path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (X a)\n(X b)", "trees.txt: the last tree lacks 1 closing bracket$"),
        ("(S (X a", "lacks 2 closing brackets"),
        ("(S (X a))\n)", "line 2: a closing bracket without"),
        ("(S (X a))\n\nstray", "line 3: expected a tree in brackets, got 'stray'"),
    ],
)
def test_broken_files_are_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "trees.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_trees(path)


def test_heights_of_a_tree_worked_by_hand() -> None:
    found = tree("(S (A (X a) (X b)) (B (C (X c) (X d)) (X e)))")
    assert found.depths.tolist() == [2, 1, 3, 2]
    heights = binary_heights(found.depths)
    assert heights.tolist() == [1, 3, 1, 2, 0]
    assert set(spans(heights)) == {(0, 1, 2), (0, 2, 5), (2, 3, 4), (2, 4, 5)}


def test_heights_say_the_whole_tree() -> None:
    """Any order of the gaps is a tree; its heights give the same spans."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 7, 20):
        depths = rng.random(n - 1)
        expected, todo = set(), [(0, n)]
        while todo:
            start, end = todo.pop()
            if end - start > 1:
                middle = start + int(depths[start : end - 1].argmin()) + 1
                expected.add((start, middle, end))
                todo += [(start, middle), (middle, end)]
        assert set(spans(binary_heights(depths))) == expected


def test_right_branching() -> None:
    assert shown(list("abcd"), right_branching(4)) == "(a (b (c d)))"
    assert right_branching(1).tolist() == right_branching(0).tolist() == [0]


SENTENCE = tree(
    "(2 (2 (2 Bond) (2 (2 -LRB-) (2 (2 007) (2 -RRB-)))) (2 (2 (2 (2 ca) (2 n't)) (2 (2 ``)"
    " (2 (2 re-start) (2 '')))) (2 .)))"
)


def test_tokens_of_other_tokenizers() -> None:
    text = 'bond ( 007 ) can\'t " re-start " .'
    for tokenizer, expected in (
        (kim, "((bond (( (007 )))) ((ca n't) (re start)))"),
        (words, '((bond (( (007 )))) (((ca n\'t) (" ((re (- start)) "))) .))'),
    ):
        tokens = tokenizer(text)
        heights = align(SENTENCE, tokens)
        assert heights is not None
        assert len(heights) == len(tokens)
        assert shown(tokens, heights) == expected


def test_marks_the_tree_lacks_stay_beside_their_neighbour() -> None:
    found = tree("(S (A (X a) (X b)) (X c))")
    for tokens, expected in (
        (["a", "b", ",", "c"], "((a (b ,)) c)"),
        (["!", "a", "b", "c"], "(((! a) b) c)"),
        (["a", "b", "c", "?", "?"], "((a b) (c (? ?)))"),
    ):
        heights = align(found, tokens)
        assert heights is not None
        assert shown(tokens, heights) == expected


def test_words_joined_cut_off_or_gone() -> None:
    found = tree("(S (A (X ca) (X n't)) (B (X go) (X there)))")
    assert align(found, []).tolist() == [0]  # type: ignore[union-attr]
    assert align(found, ["can't", "go", "there"]).tolist() == [2, 1, 0]  # type: ignore[union-attr]
    assert align(found, ["ca", "n't", "go"]).tolist() == [1, 2, 0]  # type: ignore[union-attr]
    assert align(found, ["can", "go"]) is None
    assert align(found, ["ca", "n't", "go", "there", "now"]) is None


BANK = Treebank(
    [
        tree("(S (A (X a) (X good)) (X film))"),
        tree("(S (X It) (X 's) (X fun) (. .))"),
        tree("(X !)"),
        tree("(S (X a) (X good))"),
    ]
)


def test_trees_are_found_by_their_letters() -> None:
    assert len(BANK) == 3
    found = BANK.find("A good film !")
    assert found is not None
    assert found.words == ("a", "good", "film")
    assert BANK.find("a bad film") is None
    assert BANK.find("...") is None
    assert BANK.heights("a bad film", ["a", "bad", "film"]) is None


def test_several_sentences_meet_at_the_top() -> None:
    text = "a good film . it's fun . a good film"
    tokens = kim(text)
    heights = BANK.heights(text, tokens)
    assert heights is not None
    assert shown(tokens, heights) == "(((a good) film) ((it ('s fun)) ((a good) film)))"
    # "a good" begins the text as well, but leads nowhere.
    assert BANK.find("a good film it's") is None


def test_bank_without_some_texts() -> None:
    rest = BANK.without(["it's fun a good film", "unheard of"])
    assert [found.words for found in rest.trees.values()] == [("a", "good")]
    assert len(BANK) == 3


def test_examples_by_tokenizer() -> None:
    examples = {" ".join(tokens): heights.tolist() for tokens, heights in BANK.examples(kim)}
    assert examples == {"a good film": [1, 2, 0], "it 's fun": [2, 1, 0], "a good": [1, 0]}
    assert list(BANK.examples(lambda text: [])) == []


@pytest.mark.mirror
def test_the_mirror_has_the_trees_of_its_readme(mirror: Path) -> None:
    from adasent.data import load

    bank = Treebank(
        found
        for part in ("train", "dev", "test")
        for found in read_trees(mirror / f"trees/sst/{part}.txt")
    )
    texts = load("MR").texts
    heights = [bank.heights(text, kim(text)) for text in texts]
    assert sum(found is not None for found in heights) >= 10590
    assert all(
        found is None or len(found) == len(kim(text))
        for found, text in zip(heights, texts, strict=True)
    )
