"""A phrase in; the sub-structures that its unit is made of, with their exact weights, out.

A unit is h = w_l h_l + w_r h_r + w_c h~, and its children are units in turn. Followed down to words
and compositions h~, it is a convex combination of those, and the weight of each is the sum over all
ways down of the product of the gates. This is exact; computed in float64 the weights sum to 1.

The paper goes further and speaks of all structures *inside* a composition as well. There the
combination no longer holds, since f of a mean is not the mean of f: :func:`structures` gives these
trees, their weights, which are exact too, and the vectors composed along them, whose weighted sum
is near the unit and not equal to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adasent.errors import DataError
from adasent.estimators.predictor import Predictor
from adasent.pyramid.constants import RELU_CAP
from adasent.runtime.arrays import Doubles
from adasent.runtime.pyramid import Composition

#: Words of a phrase whose trees can be listed: 12 trees for 3 words, 148 for 4, 21,909 for 5.
MAX_TREE_WORDS = 4

Tree = int | tuple["Tree", "Tree"]
"""A word's position, or the pair of trees that were composed."""


@dataclass(frozen=True, eq=False)
class Part:
    """A word, or the composition of a span, inside a unit.

    Attributes
    ----------
    start, length
        The words it covers; of length 1 it is a word.
    weight
        Its share of the unit.
    n_ways
        How many ways lead down to it.
    vector
        (D,) the word's vector h^1, or h~.
    """

    start: int
    length: int
    weight: float
    n_ways: int
    vector: Doubles


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The unit of a phrase and what it is made of.

    Attributes
    ----------
    unit
        (D,) the top of the phrase's pyramid.
    parts
        T (T + 1) / 2 of them: words first, then longer spans, from left to right.
    gates
        For each level from the second on, (cells, 3): shares of left, right and composition.
    """

    unit: Doubles
    parts: tuple[Part, ...]
    gates: tuple[Doubles, ...]

    def reproduced(self) -> Doubles:
        """(D,) the weighted sum of the parts; the unit again."""
        weights = np.array([part.weight for part in self.parts])
        product: Doubles = weights @ np.stack([part.vector for part in self.parts])
        return product


class Cell:
    """The weights of a pyramid in float64."""

    def __init__(self, composition: Composition) -> None:
        size = len(composition.compose_bias)
        matrix = composition.matrix.astype(np.float64)
        width = len(composition.gate_bias)
        ends = [size, 2 * size, 2 * size + width]
        self._left, self._right, self._gate_left, self._gate_right = np.split(matrix, ends, axis=1)
        self._composition = composition

    def compose(self, left: Doubles, right: Doubles) -> Doubles:
        """h~ of neighbours, (n, D) each."""
        sums = left @ self._left + right @ self._right + self._composition.compose_bias
        composed: Doubles = (
            np.clip(sums, 0.0, RELU_CAP) if self._composition.relu else np.tanh(sums)
        )
        return composed

    def gates(self, left: Doubles, right: Doubles) -> Doubles:
        """(n, 3) shares of left, right and composition."""
        scores = left @ self._gate_left + right @ self._gate_right + self._composition.gate_bias
        if self._composition.gate_out is not None:
            assert self._composition.gate_out_bias is not None
            scores = np.tanh(scores) @ self._composition.gate_out.T
            scores = scores + self._composition.gate_out_bias
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Doubles = powers / powers.sum(axis=1, keepdims=True)
        return shares


def decompose(words: Doubles, cell: Cell) -> Decomposition:
    """Take a unit apart.

    Parameters
    ----------
    words
        (T, D) units of the first level, T at least 1.
    """
    units, gates, composed = [words.astype(np.float64)], [], [words.astype(np.float64)]
    while len(units[-1]) > 1:
        left, right = units[-1][:-1], units[-1][1:]
        share, made = cell.gates(left, right), cell.compose(left, right)
        units.append(share[:, :1] * left + share[:, 1:2] * right + share[:, 2:] * made)
        gates.append(share)
        composed.append(made)

    # From the top down: how much of the unit arrives at each cell, and by how many ways.
    arriving, ways = np.ones(1), np.ones(1, dtype=np.int64)
    found: list[list[Part]] = []
    for level in range(len(units) - 1, -1, -1):
        kept = arriving * gates[level - 1][:, 2] if level else arriving
        found.append(
            [
                Part(start, level + 1, float(kept[start]), int(ways[start]), vector)
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
    """What arrives at the cells of the level below from their parents."""
    arrived: np.ndarray = np.append(left, 0) + np.insert(right, 0, 0)
    return arrived


def decompose_phrase(predictor: Predictor, text: str) -> tuple[tuple[str, ...], Decomposition]:
    """The words of a phrase as a saved model reads them, and its unit taken apart."""
    trace = predictor.trace(text)
    cell = Cell(predictor.network.composition)
    return trace.tokens, decompose(trace.units[0].astype(np.float64), cell)


@dataclass(frozen=True, eq=False)
class Structure:
    """A tree over words of a phrase: its weight, and the vector composed along it."""

    tree: Tree
    weight: float
    vector: Doubles


def structures(words: Doubles, cell: Cell) -> list[Structure]:
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
    gates = decompose(words, cell).gates
    level = [[Structure(i, 1.0, vector)] for i, vector in enumerate(words.astype(np.float64))]
    for shares in gates:
        level = [
            _merged(_grown(left, right, share, cell))
            for left, right, share in zip(level, level[1:], shares, strict=False)
        ]
    return sorted(level[0], key=lambda structure: -structure.weight)


def _grown(
    left: list[Structure], right: list[Structure], share: Doubles, cell: Cell
) -> Iterator[Structure]:
    for children, weight in ((left, share[0]), (right, share[1])):
        for one in children:
            yield Structure(one.tree, float(weight) * one.weight, one.vector)
    for one in left:
        for other in right:
            made = cell.compose(one.vector[None], other.vector[None])[0]
            weight = float(share[2]) * one.weight * other.weight
            yield Structure((one.tree, other.tree), weight, made)


def _merged(grown: Iterator[Structure]) -> list[Structure]:
    """Equal trees have equal vectors: their weights are added."""
    found: dict[Tree, Structure] = {}
    for one in grown:
        before = found[one.tree].weight if one.tree in found else 0.0
        found[one.tree] = Structure(one.tree, before + one.weight, one.vector)
    return list(found.values())
