"""The sub-structures that the unit of a phrase is made of, with their exact weights.

A unit is h = w_l h_l + w_r h_r + w_c h~, and its children are units in turn. Followed down to words
and compositions h~, it is a convex combination of those, and the weight of each is the sum over all
ways down of the product of the gates. This is exact; computed in float64 the weights sum to 1.
Where groups of dimensions have gates of their own, it holds in each group by itself.

The paper goes further and speaks of all structures *inside* a composition as well. There the
combination no longer holds, since f of a mean is not the mean of f: :func:`structures` gives these
trees, their weights, which are exact too, and the vectors composed along them, whose weighted sum
is near the unit and not equal to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from adasent.errors import DataError
from adasent.explain.explainer import Model
from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Doubles
from adasent.runtime.climb import NUMPY, Composition, climb
from adasent.text.encoder import check_texts
from adasent.text.passage import read_passages
from adasent.text.vocabulary import SPECIALS, UNK_ID

#: Words of a phrase whose trees can be listed: 12 trees for 3 words, 148 for 4, 21,909 for 5.
MAX_TREE_WORDS = 4

Tree = int | tuple["Tree", "Tree"]
"""A word's position, or the pair of trees that were composed."""


@dataclass(frozen=True, eq=False)
class Part:
    """A word, or the composition of a span, inside a unit."""

    start: int  # first of the words it covers
    length: int  # how many; of length 1 it is a word
    weights: Doubles  # (N,) its share of the unit, in each group of dimensions
    n_ways: int  # ways that lead down to it
    vector: Doubles  # (D,) the word's vector h^1, or h~

    @property
    def weight(self) -> float:
        """Its share of the unit, the mean over the groups, which have equally many dimensions."""
        return float(self.weights.mean())


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The unit of a phrase and what it is made of."""

    unit: Doubles  # (D,) the top of the phrase's pyramid
    parts: tuple[Part, ...]  # T (T + 1) / 2: words first, then longer spans, from left to right
    gates: tuple[Doubles, ...]  # of each level from the second on, (units, 3, N)

    def reproduced(self) -> Doubles:
        """(D,) the weighted sum of the parts; the unit again."""
        return _weighed((part.weights, part.vector) for part in self.parts)


def _weighed(parts: Iterable[tuple[Doubles, Doubles]]) -> Doubles:
    """(D,) sum of vectors (D,) by weights (N,) of groups; dimension d is of group d mod N."""
    total: Doubles = np.sum([np.tile(w, len(v) // len(w)) * v for w, v in parts], axis=0)
    return total


def decompose(words: Doubles, composition: Composition) -> Decomposition:
    """Take a unit apart.

    Parameters
    ----------
    words
        (T, D) units of the first level, T at least 1.
    """
    composition = composition.in_double()
    words = words.astype(np.float64)
    layout = Layout(np.array([len(words)]))
    product = words @ composition.matrix
    pyramid = climb(words, product, layout, composition, NUMPY, keep=True)
    units, gates = pyramid.by_level(layout)
    composed = [words, *(composition.composed(level[:-1], level[1:]) for level in units[:-1])]

    # From the top down: how much of the unit arrives at each unit, and by how many ways.
    arriving, ways = np.ones((1, composition.n_groups)), np.ones(1, dtype=np.int64)
    found: list[list[Part]] = []
    for level in range(len(units) - 1, -1, -1):
        kept = arriving * gates[level - 1][:, 2] if level else arriving  # (units, N)
        found.append(
            [
                Part(start, level + 1, kept[start], int(ways[start]), vector)
                for start, vector in enumerate(composed[level])
            ]
        )
        if level:
            share = gates[level - 1]
            arriving = _below(arriving * share[:, 0], arriving * share[:, 1])
            ways = _below(ways, ways)
    parts = tuple(part for level_parts in reversed(found) for part in level_parts)
    return Decomposition(units[-1][0], parts, tuple(gates))


def _below(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What arrives at the units of the level below from their parents."""
    nothing = np.zeros_like(left[:1])
    arrived: np.ndarray = np.concatenate([left, nothing]) + np.concatenate([nothing, right])
    return arrived


def decompose_phrase(model: Model, text: str) -> tuple[tuple[str, ...], Decomposition]:
    """The words of a phrase as a model reads them, and its unit taken apart."""
    encoder, network = model.encoder, model.network
    (passage,) = read_passages(check_texts([text]), encoder.tokenizer, encoder.max_words)
    tokens = passage.tokens
    rows = encoder.rows([passage])
    words = network.on(rows.table).words(rows.ids[0])
    height = network.config.max_height
    if height is not None and len(tokens) > height:
        raise DataError(
            f"expected at most {height} words, got {len(tokens)}: the model's max_height leaves "
            "longer phrases without a unit of their own"
        )
    found = decompose(words.units[words.which].astype(np.float64), network.composition)
    return tuple(tokens) or (SPECIALS[UNK_ID],), found


@dataclass(frozen=True, eq=False)
class Structure:
    """A tree over words of a phrase: its weights, and the vector composed along it."""

    tree: Tree
    weights: Doubles  # (N,) in each group of dimensions
    vector: Doubles

    @property
    def weight(self) -> float:
        """The mean over the groups."""
        return float(self.weights.mean())


def structures(words: Doubles, composition: Composition) -> list[Structure]:
    """All trees along which a phrase may be composed, the heaviest first; weights sum to 1.

    Parameters
    ----------
    words
        (T, D) units of the first level, T at most :data:`MAX_TREE_WORDS`.
    """
    if len(words) > MAX_TREE_WORDS:
        raise DataError(
            f"expected at most {MAX_TREE_WORDS} words, got {len(words)}: the trees over more are "
            "too many to list; decompose() has no such limit"
        )
    gates = decompose(words, composition).gates
    composition = composition.in_double()
    whole = np.ones(composition.n_groups)
    level = [[Structure(i, whole, vector)] for i, vector in enumerate(words.astype(np.float64))]
    for shares in gates:
        level = [
            _merged(_grown(left, right, share, composition))
            for left, right, share in zip(level, level[1:], shares, strict=False)
        ]
    return sorted(level[0], key=lambda structure: -structure.weight)


def _grown(
    left: list[Structure], right: list[Structure], share: Doubles, composition: Composition
) -> Iterator[Structure]:
    for children, weight in ((left, share[0]), (right, share[1])):
        for one in children:
            yield Structure(one.tree, weight * one.weights, one.vector)
    for one in left:
        for other in right:
            made = composition.composed(one.vector[None], other.vector[None])[0]
            weight = share[2] * one.weights * other.weights
            yield Structure((one.tree, other.tree), weight, made)


def _merged(grown: Iterator[Structure]) -> list[Structure]:
    """Equal trees have equal vectors: their weights are added."""
    found: dict[Tree, Structure] = {}
    for one in grown:
        before = found[one.tree].weights if one.tree in found else 0.0
        found[one.tree] = Structure(one.tree, before + one.weights, one.vector)
    return list(found.values())
