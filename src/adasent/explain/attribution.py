"""Texts in; what each of their units and words contributed to each class, out.

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

import numpy as np

from adasent.explain.credit import Credit, credit_numpy
from adasent.explain.gradients import level_gradients
from adasent.explain.places import Places
from adasent.explain.pyramids import Pyramids, grow
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.consensus import beliefs, consensus
from adasent.runtime.levels import LevelHead
from adasent.runtime.network import Network, normalised
from adasent.runtime.words import Words

#: Units classified at a time.
CHUNK = 512


@dataclass(frozen=True)
class Attribution:
    """What a batch of B texts owes to its parts, text after text; see :class:`Places`.

    Attributes
    ----------
    gates
        (n_cells - n_words, 3).
    beliefs, votes
        (n_words,) and (C, n_words): belief in each level, and its probabilities of the classes.
    probabilities
        (B, C) the consensus.
    unit_scores, word_scores
        (C, n_cells) and (C, n_words).
    starts, stops
        (n_cells,) the core of each unit.
    """

    places: Places
    gates: Floats
    beliefs: Doubles
    votes: Doubles
    probabilities: Doubles
    unit_scores: Doubles
    word_scores: Doubles
    starts: Ints
    stops: Ints


class Attributor:
    """Explains the texts of a call, batch by batch.

    Parameters
    ----------
    words
        The distinct words of the call.
    empty
        Which of them stands for a text without a word.
    cells
        :mod:`adasent.pyramid.cells`, or None for plain numpy.
    """

    def __init__(
        self, network: Network, words: Words, empty: int, cells: ModuleType | None
    ) -> None:
        self._network = network
        self._words = words
        self._cells = cells
        self._votes = _votes(network.head, words.units)  # (C, m)
        self._empty = self._votes[:, empty : empty + 1]

    def __call__(self, lengths: Ints, which: Ints) -> Attribution:
        """Explain a batch.

        Parameters
        ----------
        lengths, which
            (B,) words of each text, longest first, and which of the distinct words each is, text
            after text.
        """
        head, composition = self._network.head, self._network.composition
        places = Places.of(lengths)
        grown = self._grow(places, which)
        firsts = places.first_word[:-1]
        levels = head.normalise(grown.levels)
        belief = beliefs(head.scores(levels)[places.words], firsts)
        log_votes = head.log_probs(levels)
        mixed = consensus(belief, log_votes[:, places.words], firsts)
        probabilities = normalised(mixed.T)

        votes = np.exp(log_votes)
        belief_in_rows = np.empty_like(belief)
        belief_in_rows[places.words] = belief
        p = probabilities.T[:, places.text]
        gradients = level_gradients(head, grown.levels, belief_in_rows, votes, p)
        found = _credit(self._cells)(grown, places, gradients, maximum=composition.maximum)
        n_words = np.repeat(lengths, lengths)
        alone = (self._votes[:, which] - self._empty) / n_words
        unit_scores = _with_last(found.units)
        single = lengths == 1
        unit_scores[:, places.first_unit[:-1][single]] = alone[:, firsts[single]]
        above = places.units[places.units >= len(which)] - len(which)
        return Attribution(
            places,
            grown.gates[above],
            belief,
            votes[:, places.words],
            probabilities,
            unit_scores,
            alone + (1 - 1 / n_words) * _with_last(found.words),
            found.starts,
            found.stops,
        )

    def unit_votes(self, places: Places, which: Ints) -> Doubles:
        """(C, n_cells) probabilities of the classes by each unit of a batch alone."""
        grown = self._grow(places, which)
        return _votes(self._network.head, grown.units)[:, places.units]

    def _grow(self, places: Places, which: Ints) -> Pyramids:
        in_rows = np.empty_like(which)
        in_rows[places.words] = which
        return grow(self._words, in_rows, places, self._network.composition, self._cells)


def _votes(head: LevelHead, units: Floats) -> Doubles:
    """(n, D) -> (C, n) what the classifier says of each unit alone; so many as fit in a cache."""
    found = np.empty((len(head.tensors["classifier.out.weight"]), len(units)))
    for first in range(0, len(units), CHUNK):
        here = slice(first, first + CHUNK)
        np.exp(head.log_probs(head.normalise(units[here])), out=found[:, here])
    return found


def _credit(cells: ModuleType | None) -> Callable[..., Credit]:
    if cells is None:
        return credit_numpy
    from adasent.explain.credit_numba import credit_numba

    return credit_numba


def _with_last(scores: Floats) -> Doubles:
    """(C - 1, n) -> (C, n): the scores of a unit or word sum to 0 over the classes."""
    found = np.empty((len(scores) + 1, scores.shape[1]))
    found[:-1] = scores
    np.negative(found[:-1].sum(axis=0), out=found[-1])
    return found
