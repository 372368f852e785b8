"""Texts of one length in; what each of their units and words contributed to each class, out.

The mixture over levels is exact. Inside a level, pooling and classifier are not additive; there a
score is an estimate by this method, which `docs/explanations.md` tests:

A word's score for a class is its Shapley value with every coalition but the empty one replaced by
the whole text, 1/T of what the word does alone, and 1 - 1/T of what it does in the text:

- alone: p(class | the word) - p(class | no word), both exact;
- in the text: the derivative of p(class) by each dimension of each pooled level, given to the unit
  that the dimension was pooled from, carried down the gates to the words, and multiplied by the
  difference of the word's vector from the mean of the text's.

A unit's score is the second part alone: derivative times difference, over the dimensions that were
pooled from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adasent.explain.credit import Credit, credit_numpy
from adasent.explain.gradients import level_gradients
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.network import Network, _normalised
from adasent.runtime.pyramid import Scratch, climb
from adasent.runtime.words import Words


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
    unit_scores: Floats
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
    levels, units, gates, credit = _pyramids(network, words, which)
    head = network.head
    by_level = levels.reshape(n_words, n_texts, -1).swapaxes(0, 1)  # (B, T, D)
    scores = head.scores(levels).reshape(n_words, n_texts).T
    beliefs = np.exp(scores - scores.max(axis=1, keepdims=True))
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    votes = np.exp(head.log_probs(levels)).reshape(-1, n_words, n_texts).T  # (B, T, C)
    n_classes = votes.shape[2]
    unit_votes = np.exp(head.log_probs(units.reshape(-1, units.shape[2])))
    unit_votes = unit_votes.T.reshape(n_texts, -1, n_classes)
    probabilities = _normalised(np.einsum("bt,btc->bc", beliefs, votes))

    gradients = level_gradients(head, by_level, beliefs, votes)
    found = credit(units, by_level, gates, gradients, maximum=network.composition.maximum)
    alone = unit_votes[:, :n_words] - empty
    return Attribution(
        gates,
        beliefs,
        votes,
        probabilities,
        unit_votes,
        _with_last(found.units),
        alone / n_words + (1 - 1 / n_words) * _with_last(found.words),
        found.starts,
        found.stops,
    )


def _pyramids(
    network: Network, words: Words, which: Ints
) -> tuple[Floats, Floats, Floats, Callable[..., Credit]]:
    """Pooled levels (T x B, D), every unit (B, cells, D), its gates, and who gives credit."""
    n_texts, n_words = which.shape
    size = network.config.hidden_size
    rows = which.T.ravel()  # position-major, as climb takes them
    counts = np.full(n_words, n_texts, dtype=np.int64)
    scratch = Scratch(network.composition, len(rows))
    cells = network.compiler.cells(network.composition, np.full(n_texts, n_words, dtype=np.int64))
    n_cells = n_words * (n_words + 1) // 2
    levels = np.empty((len(rows), size), dtype=np.float32)
    units = np.empty((n_texts, n_cells, size), dtype=np.float32)
    gates = np.empty((n_texts, n_cells - n_words, 3), dtype=np.float32)
    first = words.units[rows], words.products[rows]
    cell = 0
    for level in climb(*first, counts, network.composition, levels, scratch, cells):
        n = len(level.units) // n_texts
        units[:, cell : cell + n] = level.units.reshape(n, n_texts, size).swapaxes(0, 1)
        if cell:
            above = slice(cell - n_words, cell - n_words + n)
            gates[:, above] = level.gates.reshape(n, n_texts, 3).swapaxes(0, 1)
        cell += n
    if cells is None:
        return levels, units, gates, credit_numpy
    from adasent.explain.credit_numba import credit_numba

    return levels, units, gates, credit_numba


def _with_last(scores: Floats) -> Floats:
    """(..., C - 1) -> (..., C): the scores of a unit or word sum to 0 over the classes."""
    return np.concatenate([scores, -scores.sum(axis=-1, keepdims=True)], axis=-1)
