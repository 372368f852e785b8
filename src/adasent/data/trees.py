"""Bracketed treebanks -> binary trees over our own tokens, as one small integer a token.

A tree over n words is kept as its n - 1 gaps. ``depths[i]`` is the depth of the lowest node that
holds words i and i + 1: reading it off the brackets collapses unary nodes by itself, leaving words
out takes a minimum, and trees side by side meet at depth 0. A binary tree is ``heights``: entry i
is the height of the node that joins what ends at word i to what begins at word i + 1 (a word has
height 0), and the last entry, which joins nothing, is 0. A node is higher than all below it, so
heights say the whole tree.

Nodes of more than two children become right-branching: (a b c) is (a (b c)).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from adasent.errors import DataError
from adasent.text.tokenize import Tokenizer

_ATOM = re.compile(r"[()]|[^\s()]+")
_OTHERS = re.compile(r"[^a-z0-9]+")
_TRACE = "-NONE-"
_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "<<": '"',  # how QuestionBank closes a quotation, and its single quote below
    "<": "'",
}
#: Deeper than any node: where our tokens cut a word of the tree.
_INSIDE_WORD = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Tree:
    """A tree as its gaps."""

    words: tuple[str, ...]  # n, at least one; brackets and quotes unescaped
    depths: np.ndarray  # (n - 1,) of the lowest node over words i and i + 1; the root has depth 1


def read_trees(path: Path) -> list[Tree]:
    """All trees of a UTF-8 file; an error names the file and the line."""
    try:
        return list(parse_trees(path.read_text(encoding="utf-8")))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from error


def parse_trees(text: str) -> Iterator[Tree]:
    """Trees of a text in brackets, ``(S (NP (DT the) (NN film)) (VP (VBD ran)))``.

    Labels are skipped, and so are traces (``-NONE-``). A tree may run over several lines, may have
    a further pair of brackets around it, and a tree without words is left out.
    """
    words: list[str] = []
    depths: list[int] = []
    depth = lowest = 0
    before, label = "", ""
    atoms = _ATOM.findall(text)
    for n_read, (atom, after) in enumerate(pairwise([*atoms, ""])):
        if atom == "(":
            depth += 1
        elif atom == ")":
            depth -= 1
            lowest = min(lowest, depth)
            if depth < 0:
                raise DataError(f"{_line(text, n_read)}: a closing bracket without an opening one")
            if depth == 0:
                if words:
                    yield Tree(tuple(words), np.array(depths, dtype=np.int64))
                words, depths = [], []
        elif depth == 0:
            raise DataError(
                f"{_line(text, n_read)}: expected a tree in brackets, got {atom!r} outside of them"
            )
        elif before == "(" and after != ")":  # alone in its brackets it is a word
            label = atom
        elif label != _TRACE:
            if words:
                depths.append(lowest)
            words.append(_ESCAPES.get(atom, atom.replace("\\", "")))
            lowest = depth
        before = atom
    if depth:
        raise DataError(f"the last tree lacks {depth} closing bracket{'s' * (depth > 1)}")


def _line(text: str, n_atoms: int) -> str:
    """Where an atom stands, for a message: found again, because few texts need it."""
    atom = next(islice(_ATOM.finditer(text), n_atoms, None))
    return f"line {text.count(chr(10), 0, atom.start()) + 1}"


def right_branching(n_words: int) -> np.ndarray:
    """Heights (n,) of the tree (a (b (c d))); one for a text without words."""
    return np.arange(max(n_words, 1) - 1, -1, -1, dtype=np.int64)


def binary_heights(depths: np.ndarray) -> np.ndarray:
    """Depths (n - 1,) of the gaps -> heights (n,) of the right-branching binary tree.

    Anything that orders the gaps will do for depths: the lowest is the root, the first of equals.
    """
    heights = np.zeros(len(depths) + 1, dtype=np.int64)
    open_gaps: list[tuple[int, float, int]] = []  # gap, its depth, height of what lies left of it
    for gap, depth in enumerate([*depths.tolist(), -np.inf]):
        height = 0
        while open_gaps and open_gaps[-1][1] > depth:
            closed, _, left = open_gaps.pop()
            height = 1 + max(left, height)
            heights[closed] = height
        open_gaps.append((gap, depth, height))
    return heights


def spans(heights: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """(start, middle, end) of each node of a binary tree: words start:middle and middle:end."""
    for gap, height in enumerate(heights[:-1].tolist()):
        higher = np.flatnonzero(heights > height)
        at = int(np.searchsorted(higher, gap))
        start = int(higher[at - 1]) + 1 if at else 0
        end = int(higher[at]) + 1 if at < len(higher) else len(heights)
        yield start, gap + 1, end


def align(tree: Tree, tokens: Sequence[str]) -> np.ndarray | None:
    """Heights of the tree over tokens of the same text, or of its beginning.

    Letters and digits of tree and tokens must agree; spacing, case, quotes and punctuation need
    not. A token stands where its first letter stands in the tree, or beside its neighbour if it is
    a mark the tree does not have there. Words of the tree that no token stands for are left out.

    Returns
    -------
    (n,) for n tokens; None if the texts differ.
    """
    if not tokens:
        return right_branching(1)
    letters = [_letters(word) for word in tree.words]
    if not "".join(letters).startswith("".join(map(_letters, tokens))):
        return None
    owner = np.repeat(np.arange(len(letters)), [len(part) for part in letters])
    places: list[int] = []
    n_read, leaf = 0, 0
    for token in tokens:
        own = _letters(token)
        if own:
            leaf = int(owner[n_read])
            n_read += len(own)
        else:
            # A mark: look for it between the words already read and the next one.
            first = places[-1] + 1 if places else 0
            last = int(owner[n_read]) if n_read < len(owner) else len(tree.words)
            found = [i for i in range(first, last) if tree.words[i].startswith(token)]
            leaf = found[0] if found else max(leaf, first - 1)
        places.append(leaf)
    between = [int(tree.depths[a:b].min()) if a < b else _INSIDE_WORD for a, b in pairwise(places)]
    return binary_heights(np.array(between, dtype=np.int64))


def _letters(text: str) -> str:
    """ASCII letters and digits, lower-cased: what every tokenizer and treebank agrees on."""
    return _OTHERS.sub("", text.lower())


class Treebank:
    """Trees found by their text."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.trees = {key: tree for tree in trees if (key := _letters("".join(tree.words)))}
        self._sizes = {len(key) for key in self.trees}

    def __deepcopy__(self, memo: dict[int, Any]) -> Treebank:
        """Itself: nothing here changes."""
        return self

    def __len__(self) -> int:
        return len(self.trees)

    def without(self, texts: Iterable[str]) -> Treebank:
        """The trees of no part of these texts."""
        parts = {part for text in texts for part in self._parts(text)}
        return Treebank(tree for key, tree in self.trees.items() if key not in parts)

    def find(self, text: str) -> Tree | None:
        """The tree of a text, or the trees of its sentences side by side."""
        parts = [self.trees[key] for key in self._parts(text)]
        if not parts:
            return None
        meeting = np.zeros(1, dtype=np.int64)
        depths = [array for tree in parts for array in (meeting, tree.depths)]
        words = tuple(word for tree in parts for word in tree.words)
        return Tree(words, np.concatenate(depths[1:]))

    def _parts(self, text: str) -> list[str]:
        """Keys of trees that make up a text, as few as lead there first; none if none do."""
        letters = _letters(text)
        if letters in self.trees:
            return [letters]
        n = len(letters)
        start_of = {0: 0}  # end of a part that can be reached -> its start
        for start in range(n):
            if start in start_of and n not in start_of:
                for size in self._sizes:
                    if letters[start : start + size] in self.trees and start + size <= n:
                        start_of.setdefault(start + size, start)
        parts: list[str] = []
        end = n if n in start_of else 0
        while end:
            parts.append(letters[start_of[end] : end])
            end = start_of[end]
        return parts[::-1]

    def heights(self, text: str, tokens: Sequence[str]) -> np.ndarray | None:
        """The binary tree over the tokens of a text, cut or not; None if the bank lacks it."""
        tree = self.find(text)
        return None if tree is None else align(tree, tokens)

    def examples(self, tokenizer: Tokenizer) -> Iterator[tuple[list[str], np.ndarray]]:
        """Tokens and heights of every tree that a tokenizer leaves something of."""
        for tree in self.trees.values():
            tokens = tokenizer(" ".join(tree.words))
            heights = align(tree, tokens) if tokens else None
            if heights is not None:
                yield tokens, heights
