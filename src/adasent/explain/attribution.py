"""Texts of one length in; what each of their units and words contributed to each class, out.

The mixture over levels is exact. Inside a level, pooling and classifier are not additive; there a
score is an estimate by this method, which `docs/explanations.md` tests:

A word's score for a class is its Shapley value with every coalition but the empty one replaced by
the whole text, 1/T of what the word does alone, and 1 - 1/T of what it does in the text:

- alone: p(class | the word) - p(class | no word), both exact;
- in the text: the derivative of p(class) by each dimension of each pooled level, given to the unit
  that the dimension was pooled from, carried down the gates to the words, and multiplied by the
  difference of the word's vector from the mean of the text's.

A unit's score is what it does in the text: derivative times its own difference from the mean, over
the dimensions that were pooled from it. The unit of a text of one word is the word, and so is its
score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np

from adasent.explain.credit import Credit, credit_numpy
from adasent.explain.gradients import level_gradients
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.network import Network, _normalised
from adasent.runtime.pyramid import Level, build_level, pool_level
from adasent.runtime.words import Words
from adasent.text.batch import n_cells


@dataclass(frozen=True)
class Attribution:
    """What B texts of T words owe to their parts. Cells are units, level after level.

    Attributes
    ----------
    gates
        (B, cells from the second level up, 3).
    beliefs, votes
        (B, T) and (B, T, C): belief in each level, and its probabilities of the classes.
    probabilities
        (B, C) the consensus.
    unit_votes
        (B, cells, C) probabilities of the classes by each unit alone.
    unit_scores, word_scores
        (B, cells, C) and (B, T, C).
    starts, stops
        (B, cells) the core of each unit.
    """

    gates: Floats
    beliefs: Doubles
    votes: Doubles
    probabilities: Doubles
    unit_votes: Doubles
    unit_scores: Floats | Doubles
    word_scores: Doubles
    starts: Ints
    stops: Ints


def attribute(network: Network, words: Words, which: Ints, empty: Doubles) -> Attribution:
    """Explain texts of one length.

    Parameters
    ----------
    words, which
        Units of the distinct words, and (B, T) which of them each word of a text is.
    empty
        (C,) probabilities of a text without a word.
    """
    n_texts, n_words = which.shape
    grown, cells = _pyramids(network, words, which)
    head, size = network.head, network.config.hidden_size
    flat = grown.levels.reshape(-1, size)
    scores = head.scores(flat).reshape(n_words, n_texts)
    beliefs = np.exp(scores - scores.max(axis=0))
    beliefs /= beliefs.sum(axis=0)
    votes = np.exp(head.log_probs(flat)).T.reshape(n_words, n_texts, -1)
    probabilities = _normalised(np.einsum("tb,tbc->bc", beliefs, votes))
    unit_votes = np.exp(head.log_probs(grown.units.reshape(-1, size))).T
    unit_votes = unit_votes.reshape(-1, n_texts, votes.shape[2]).swapaxes(0, 1)

    gradients = level_gradients(head, grown.levels, beliefs, votes)
    found = _credit(cells)(*grown, gradients, maximum=network.composition.maximum)
    alone = (unit_votes[:, :n_words] - empty) / n_words
    return Attribution(
        grown.gates.swapaxes(0, 1),
        beliefs.T,
        votes.swapaxes(0, 1),
        probabilities,
        unit_votes,
        _with_last(found.units) if n_words > 1 else alone,
        alone + (1 - 1 / n_words) * _with_last(found.words),
        found.starts,
        found.stops,
    )


class _Pyramids(NamedTuple):
    """Every unit of B texts, cells and levels first: each level lies as the runtime builds it."""

    units: Floats  # (cells, B, D)
    levels: Floats  # (T, B, D) pooled
    gates: Floats  # (cells from the second level up, B, 3)


def _pyramids(network: Network, words: Words, which: Ints) -> tuple[_Pyramids, ModuleType | None]:
    """The pyramids of the texts, and the compiled passes where they were used."""
    n_texts, n_words = which.shape
    composition, size = network.composition, network.config.hidden_size
    counts = np.full(n_words, n_texts, dtype=np.int64)
    cells = network.compiler.cells(composition, np.full(n_texts, n_words, dtype=np.int64))
    n_rows = n_cells(n_words) * n_texts
    levels = np.empty((n_words * n_texts, size), dtype=np.float32)
    units = np.empty((n_rows, size), dtype=np.float32)
    gates = np.empty((n_rows - n_words * n_texts, 3), dtype=np.float32)
    rows = which.T.ravel()
    below, product = words.units[rows], words.products[rows]
    units[: len(rows)] = below
    pool_level(below, counts, levels[:n_texts], composition, cells)
    buffer = np.empty_like(product)
    first, last = 0, len(rows)
    for t in range(1, n_words):
        if t > 1:
            product = np.matmul(below, composition.matrix, out=buffer[: len(below)])
        first, last = last, last + len(below) - n_texts
        gate = gates[first - len(rows) : last - len(rows)]
        level = Level(units[first:last], gate)
        pooled = levels[t * n_texts : (t + 1) * n_texts]
        build_level(below, product, counts[t - 1 :], level, pooled, composition, cells)
        below = level.units
    made = _Pyramids(*(part.reshape(-1, n_texts, part.shape[1]) for part in (units, levels, gates)))
    return made, cells


def _credit(cells: ModuleType | None) -> Callable[..., Credit]:
    if cells is None:
        return credit_numpy
    from adasent.explain.credit_numba import credit_numba

    return credit_numba


def _with_last(scores: Floats) -> Floats:
    """(..., C - 1) -> (..., C): the scores of a unit or word sum to 0 over the classes."""
    return np.concatenate([scores, -scores.sum(axis=-1, keepdims=True)], axis=-1)
