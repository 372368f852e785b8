"""What each unit and word of a text contributed to each class.

The mixture over levels is exact. Inside a level, pooling and classifier are not additive; there a
score is an estimate by this method, which `docs/explanations.md` tests:

A word's score for a class is an estimate of its Shapley value, what it adds to 0, 1, ... T - 1
other words, each number counted alike: to none, what it does alone; to one, half that and half what
it does in the text; to more, what it does in the text:

- alone: p(class | the word) - p(class | no word), both exact;
- in the text, for the first word and the last: p(class | text) - p(class | text without the word),
  both exact (:mod:`adasent.explain.deletion`);
- for the words between, estimated: the derivative of p(class) by each dimension of each pooled
  level, given to the unit that the dimension was pooled from, carried down the gates to the words,
  and multiplied by the difference of the word's vector from the mean of the text's. All estimates
  of a text are scaled by what makes those of its end words as large as the exact values. For who
  asks for it, these words are left out one by one as well.

A unit's score is what it does in the text: derivative times its own difference from the mean, over
the dimensions that were pooled from it, times that scale. The unit of a text of one word is the
word, and so is its score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adasent.explain.credit import Credit, credit_numpy
from adasent.explain.deletion import n_shorter, scales, shorter_numpy, without_each
from adasent.explain.mixture import HeadGradient, Mixture, by_vote_numpy, finish_numpy, mix
from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.climb import Passes as ClimbPasses
from adasent.runtime.climb import Pyramids, climb
from adasent.runtime.head import LevelHead
from adasent.runtime.network import Network, Words

#: Units classified at a time.
CHUNK_UNITS = 512

#: Of the numbers of other words that a word is added to, how many count for what it does alone:
#: none, and by half one.
N_COUNTED_ALONE = 1.5


class Passes(NamedTuple):
    """The loops over all units of a batch, in numpy or compiled."""

    credit: Callable[..., Credit]
    shorter: Callable[..., Floats]
    by_vote: Callable[..., None]
    finish: Callable[..., None]


NUMPY = Passes(credit_numpy, shorter_numpy, by_vote_numpy, finish_numpy)


def passes_like(climbing: ClimbPasses) -> Passes:
    """Those of an explanation whose pyramids are climbed by numpy, or by numba."""
    if climbing.name == "numpy":
        return NUMPY
    from adasent.explain.compiled import NUMBA  # needs numba

    return NUMBA


@dataclass(frozen=True)
class Attribution:
    """What a batch of B texts owes to its parts, text after text."""

    layout: Layout
    gates: Floats  # (n_units - n_words, 3)
    beliefs: Doubles  # (n_pooled,) in each level
    votes: Doubles  # (C, n_pooled) probabilities of the classes by each level
    probabilities: Doubles  # (B, C) the consensus
    unit_scores: Floats  # (C, n_units)
    word_scores: Doubles  # (C, n_words)
    starts: Ints  # (n_units,) the core of each unit: its first word,
    stops: Ints  # and the word after its last


class Attributor:
    """Explains the texts of a call, batch by batch.

    Parameters
    ----------
    words
        The distinct words of the call.
    empty
        Which of them stands for a text without a word.
    climbing
        How the pyramids are climbed; the other passes are of the same kind.
    """

    def __init__(self, network: Network, words: Words, empty: int, climbing: ClimbPasses) -> None:
        self._network = network
        self._words = words
        self._climbing = climbing
        self._passes = passes_like(climbing)
        self._empty = empty
        self._gradient = HeadGradient.of(network.head)
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
        layout = Layout(lengths, self._network.config.max_height)
        pyramids = self._climb(layout, which)
        maximum = self._network.composition.maximum
        shorter = self._passes.shorter(pyramids, layout, maximum=maximum)
        mixture, ends = self._mix(pyramids.levels, shorter, layout)
        belief = np.empty_like(mixture.beliefs)
        belief[layout.level_rows] = mixture.beliefs
        p = mixture.probabilities.T[:, layout.text[: layout.n_pooled]]
        by_vote, finish = self._passes.by_vote, self._passes.finish
        gradients = self._gradient(pyramids.levels, mixture, belief, p, by_vote, finish)
        found = self._passes.credit(pyramids, layout, gradients, maximum=maximum)
        assert self._alone is not None
        in_text = None
        if texts is not None:
            in_text = without_each(self._network, texts, mixture.probabilities)
        units, words = _scores(found, self._alone[:, which], ends, layout, in_text)
        return Attribution(
            layout,
            found.gates,
            mixture.beliefs,
            mixture.votes[:, layout.level_rows],
            mixture.probabilities,
            units,
            words,
            found.starts,
            found.stops,
        )

    def _mix(self, levels: Floats, shorter: Floats, layout: Layout) -> tuple[Mixture, Doubles]:
        """The mixture of every text, and what its first and its last word add to it.

        Parameters
        ----------
        levels, shorter
            (n_pooled, D) pooled levels of the texts, and (2, n, D) those of the texts without these
            words; see :func:`shorter_numpy`.

        Returns
        -------
        mixture, ends
            The latter (2, C, texts of more than one word): p(class | text) - p(class | shorter).
        """
        # All that the head has to judge at once: for a short text, a call costs more than its work.
        n_own, n_short, n_texts = len(levels), shorter.shape[1], len(layout.lengths)
        parts = [levels, *shorter]
        if self._alone is None:
            parts.append(self._words.units)
        n_long = int(layout.counts[1]) if len(layout.counts) > 1 else 0
        firsts = n_own + np.cumsum(n_shorter(layout)[:n_long]) - n_shorter(layout)[:n_long]
        mixture = mix(
            self._network.head,
            np.concatenate(parts),
            np.concatenate([layout.level_rows, np.arange(n_own, n_own + 2 * n_short)]),
            np.concatenate([layout.first_level[:-1], firsts, firsts + n_short]),
        )
        if self._alone is None:
            votes = mixture.votes[:, n_own + 2 * n_short :]
            self._alone = votes - votes[:, self._empty : self._empty + 1]
        whole = mixture.probabilities[:n_texts]
        ends = whole[:n_long] - mixture.probabilities[n_texts:].reshape(2, n_long, whole.shape[1])
        own = Mixture(
            mixture.taken[:n_own],
            None if mixture.hidden is None else mixture.hidden[:n_own],
            mixture.beliefs[:n_own],
            mixture.votes[:, :n_own],
            whole,
        )
        return own, ends.transpose(0, 2, 1)

    def unit_votes(self, layout: Layout, which: Ints) -> Doubles:
        """(C, n_units) probabilities of the classes by each unit of a batch alone."""
        units = self._climb(layout, which).units
        return _votes(self._network.head, units)[:, layout.unit_rows]

    def _climb(self, layout: Layout, which: Ints) -> Pyramids:
        rows = np.empty_like(which)
        rows[layout.word_rows] = which
        first = self._words.units[rows], self._words.products[rows]
        return climb(*first, layout, self._network.composition, self._climbing, keep=True)


def _scores(
    found: Credit, alone: Doubles, ends: Doubles, layout: Layout, in_text: Doubles | None
) -> tuple[Floats, Doubles]:
    """Scores of units (C, n_units) and words (C, n_words).

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
    first_word, first_unit = layout.first_word, layout.first_unit
    if n_long:
        lengths, bounds = layout.lengths[:n_long], first_word[: n_long + 1]
        n_units = np.diff(first_unit[: n_long + 1])
        scale = scales(ends, words, bounds)
        rest = 1 - share_alone(lengths)
        words[:, : bounds[-1]] *= np.repeat(scale * rest, lengths)
        words[:, bounds[:-1]] = ends[0] * rest
        words[:, bounds[1:] - 1] = ends[1] * rest
        units[:, : first_unit[n_long]] *= np.repeat(scale.astype(np.float32), n_units)
    # A text of one word is that word, and so is its unit.
    words[:, first_word[n_long] :] = 0.0
    units[:, first_unit[n_long] :] = alone[:, first_word[n_long] :]
    share = np.repeat(share_alone(layout.lengths), layout.lengths)
    if in_text is not None:
        words = (1 - share) * in_text
    words += alone * share
    return units, words


def share_alone(n_words: Ints) -> Doubles:
    """How much of the score of a word of texts of so many is what it does alone."""
    found: Doubles = np.minimum(1.0, N_COUNTED_ALONE / n_words)
    return found


def _votes(head: LevelHead, units: Floats) -> Doubles:
    """(n, D) -> (C, n) what the classifier says of each unit alone; so many as fit in a cache."""
    found = np.empty((len(head.tensors["classifier.out.weight"]), len(units)))
    for first in range(0, len(units), CHUNK_UNITS):
        here = slice(first, first + CHUNK_UNITS)
        np.exp(head.log_probs(head.normalise(units[here])), out=found[:, here])
    return found


def _with_last(scores: Floats) -> Floats:
    """(C - 1, n) -> (C, n): the scores of a unit or word sum to 0 over the classes."""
    return np.concatenate([scores, -scores.sum(axis=0, keepdims=True)])
