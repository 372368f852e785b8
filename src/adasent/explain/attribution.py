"""Texts in; what each of their units and words contributed to each class, out.

The mixture over levels is exact. Inside a level, pooling and classifier are not additive; there a
score is an estimate by this method, which `docs/explanations.md` tests:

A word's score for a class is an estimate of its Shapley value, what it adds to 0, 1, ... T - 1
other words, each number counted alike: to none, what it does alone; to one, half that and half what
it does in the text; to more, what it does in the text:

- alone: p(class | the word) - p(class | no word), both exact;
- in the text, for the first word and the last: p(class | text) - p(class | text without the word),
  both exact (:mod:`adasent.explain.ends`);
- for the words between, estimated: the derivative of p(class) by each dimension of each pooled
  level, given to the unit that the dimension was pooled from, carried down the gates to the words,
  and multiplied by the difference of the word's vector from the mean of the text's. All estimates
  of a text are scaled by what makes those of its end words as large as the exact values. For who
  asks for it, these words are left out one by one as well (:mod:`adasent.explain.deletion`).

A unit's score is what it does in the text: derivative times its own difference from the mean, over
the dimensions that were pooled from it, times that scale. The unit of a text of one word is the
word, and so is its score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from adasent.explain.credit import Credit, credit_numpy
from adasent.explain.deletion import without_each
from adasent.explain.ends import scales, shorter_numpy
from adasent.explain.gradients import HeadGradient
from adasent.explain.mixture import Mixture, mix
from adasent.explain.places import Places
from adasent.explain.pyramids import Pyramids, grow
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.levels import LevelHead
from adasent.runtime.network import Network
from adasent.runtime.words import Words
from adasent.text.batch import n_cells

#: Units classified at a time.
CHUNK = 512

#: Numbers of other words to which a word adds what it does alone: none, and by half one.
ALONE = 1.5


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
    unit_scores: Floats
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
        self.cells = cells
        self._empty = empty
        self._gradient = HeadGradient(network.head, cells)
        self._alone: Doubles | None = None

    def __call__(
        self, lengths: Ints, which: Ints, texts: Sequence[Ints] | None = None
    ) -> Attribution:
        """Explain a batch.

        Parameters
        ----------
        lengths, which
            (B,) words of each text, longest first, and which of the distinct words each is, text
            after text.
        texts
            The ids of the texts, where what each word does in its text is to be exact.
        """
        places = Places.of(lengths)
        grown = self._grow(places, which)
        credit, shorter = _passes(self.cells)
        maximum = self._network.composition.maximum
        mixture, ends = self._mix(grown, shorter(grown, places, maximum=maximum), places)
        belief = np.empty_like(mixture.beliefs)
        belief[places.words] = mixture.beliefs
        p = mixture.probabilities.T[:, places.text]
        gradients = self._gradient(grown.levels, mixture, belief, p)
        found = credit(grown, places, gradients, maximum=maximum)
        assert self._alone is not None
        in_text = None
        if texts is not None:
            in_text = without_each(self._network, texts, mixture.probabilities)
        units, words = _scores(found, self._alone[:, which], ends, places, in_text)
        return Attribution(
            places,
            found.gates,
            mixture.beliefs,
            mixture.votes[:, places.words],
            mixture.probabilities,
            units,
            words,
            found.starts,
            found.stops,
        )

    def _mix(self, grown: Pyramids, shorter: Floats, places: Places) -> tuple[Mixture, Doubles]:
        """The mixture of every text, and what its first and its last word add to it.

        Parameters
        ----------
        shorter
            (2, n, D) levels of the texts without these words; see :func:`shorter_numpy`.

        Returns
        -------
        mixture, ends
            The latter (2, C, texts of more than one word): p(class | text) - p(class | shorter).
        """
        # All that the head has to judge at once: for a short text, a call costs more than its work.
        n_words, n_short, n_texts = len(grown.levels), shorter.shape[1], len(places.lengths)
        parts = [grown.levels, *shorter]
        if self._alone is None:
            parts.append(self._words.units)
        n_long = int(places.counts[1]) if len(places.counts) > 1 else 0
        firsts = places.first_word[:n_long] - np.arange(n_long) + n_words
        mixture = mix(
            self._network.head,
            np.concatenate(parts),
            np.concatenate([places.words, np.arange(n_words, n_words + 2 * n_short)]),
            np.concatenate([places.first_word[:-1], firsts, firsts + n_short]),
        )
        if self._alone is None:
            votes = mixture.votes[:, n_words + 2 * n_short :]
            self._alone = votes - votes[:, self._empty : self._empty + 1]
        whole = mixture.probabilities[:n_texts]
        ends = whole[:n_long] - mixture.probabilities[n_texts:].reshape(2, n_long, whole.shape[1])
        own = Mixture(
            mixture.taken[:n_words],
            None if mixture.hidden is None else mixture.hidden[:n_words],
            mixture.beliefs[:n_words],
            mixture.votes[:, :n_words],
            whole,
        )
        return own, ends.transpose(0, 2, 1)

    def unit_votes(self, places: Places, which: Ints) -> Doubles:
        """(C, n_cells) probabilities of the classes by each unit of a batch alone."""
        grown = self._grow(places, which)
        return _votes(self._network.head, grown.units)[:, places.units]

    def _grow(self, places: Places, which: Ints) -> Pyramids:
        in_rows = np.empty_like(which)
        in_rows[places.words] = which
        return grow(self._words, in_rows, places, self._network.composition, self.cells)


def _scores(
    found: Credit, alone: Doubles, ends: Doubles, places: Places, in_text: Doubles | None
) -> tuple[Floats, Doubles]:
    """Scores of units (C, n_cells) and words (C, n_words).

    Parameters
    ----------
    alone
        (C, n_words) what each word does without the others.
    ends
        (2, C, texts of more than one word) what the first and the last word do in the text.
    in_text
        (C, n_words) what every word does in it; None estimates that of the words between.
    """
    units, words = _with_last(found.units), _with_last(found.words).astype(np.float64)
    n_long = ends.shape[2]
    first_word, first_unit = places.first_word, places.first_unit
    if n_long:
        lengths, bounds = places.lengths[:n_long], first_word[: n_long + 1]
        scale = scales(ends, words, bounds)
        rest = 1 - share_alone(lengths)
        words[:, : bounds[-1]] *= np.repeat(scale * rest, lengths)
        words[:, bounds[:-1]] = ends[0] * rest
        words[:, bounds[1:] - 1] = ends[1] * rest
        units[:, : first_unit[n_long]] *= np.repeat(scale.astype(np.float32), n_cells(lengths))
    # A text of one word is that word, and so is its unit.
    words[:, first_word[n_long] :] = 0.0
    units[:, first_unit[n_long] :] = alone[:, first_word[n_long] :]
    share = np.repeat(share_alone(places.lengths), places.lengths)
    if in_text is not None:
        words = (1 - share) * in_text
    words += alone * share
    return units, words


def share_alone(n_words: Ints) -> Doubles:
    """How much of the score of a word of texts of so many is what it does alone."""
    found: Doubles = np.minimum(1.0, ALONE / n_words)
    return found


def _votes(head: LevelHead, units: Floats) -> Doubles:
    """(n, D) -> (C, n) what the classifier says of each unit alone; so many as fit in a cache."""
    found = np.empty((len(head.tensors["classifier.out.weight"]), len(units)))
    for first in range(0, len(units), CHUNK):
        here = slice(first, first + CHUNK)
        np.exp(head.log_probs(head.normalise(units[here])), out=found[:, here])
    return found


def _passes(cells: ModuleType | None) -> tuple[Callable[..., Credit], Callable[..., Floats]]:
    """Credit and the levels of shorter texts, compiled or not."""
    if cells is None:
        return credit_numpy, shorter_numpy
    from adasent.explain.credit_numba import credit_numba
    from adasent.explain.ends_numba import shorter_numba

    return credit_numba, shorter_numba


def _with_last(scores: Floats) -> Floats:
    """(C - 1, n) -> (C, n): the scores of a unit or word sum to 0 over the classes."""
    return np.concatenate([scores, -scores.sum(axis=0, keepdims=True)])
