"""The mixture over the pooled levels of texts with its parts, and its derivative by the levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.head import NORM_EPS, LevelHead, beliefs, consensus
from adasent.runtime.network import normalised

#: So near the kink of a rectifier its derivative goes from 0 to 1; rounding must not decide.
KINK_WIDTH = np.float32(0.01)

#: What the levels contribute sums to the probabilities within this.
SUM_TOLERANCE = 1e-6


class Mixture(NamedTuple):
    """p(class) = sum over levels of belief x vote, for n levels of B texts.

    Beliefs and probabilities are text after text; the rest lies as the levels that were passed in.
    """

    taken: Floats  # (n, D) levels as the head takes them
    hidden: Floats | None  # (n, H) what its classifier rectifies, if it does
    beliefs: Doubles  # (n,)
    votes: Doubles  # (C, n)
    probabilities: Doubles  # (B, C)


def mix(head: LevelHead, levels: Floats, rows: Ints, firsts: Ints) -> Mixture:
    """Classify texts by their levels.

    Parameters
    ----------
    levels
        (n, D) pooled.
    rows, firsts
        (n,) the row of each level, text after text, and (B,) which of them is a text's first.
    """
    taken = head.normalise(levels)
    belief = beliefs(head.scores(taken)[rows], firsts)
    hidden = head.hidden(taken)
    log_votes = head.vote(taken if hidden is None else np.maximum(hidden, 0.0))
    mixed = consensus(belief, log_votes[:, rows], firsts)
    probabilities = normalised(mixed.T)
    assert np.abs(probabilities - mixed.T).max() < SUM_TOLERANCE, (
        "levels do not sum to the probabilities"
    )
    return Mixture(taken, hidden, belief, np.exp(log_votes), probabilities)


class HeadGradient:
    """The derivative of p(c) = sum of belief x vote by every pooled level, through both factors.

    Classifier and level gate begin with a linear layer each, whose matrix takes the derivative by
    the layer's outputs back to the levels. A level norm's gain and mean are linear too, and part
    of both matrices. They are worked out once for a head, by :meth:`of`.
    """

    _known: ClassVar[WeakKeyDictionary[LevelHead, HeadGradient]] = WeakKeyDictionary()

    @classmethod
    def of(cls, head: LevelHead) -> HeadGradient:
        """The one of a head; its tensors do not change any more."""
        if head not in cls._known:
            cls._known[head] = cls(head.tensors)
        return cls._known[head]

    def __init__(self, tensors: Mapping[str, Floats]) -> None:
        self._tensors = tensors
        self._hidden = tensors.get("classifier.hidden.weight")
        self._mlp = tensors.get("level_gate.score.0.weight")
        gate = tensors["level_gate.score.weight"] if self._mlp is None else self._mlp
        self._out = out = tensors["classifier.out.weight"]
        layers = [out if self._hidden is None else self._hidden, gate]
        if self._hidden is None:  # the outputs are the scores of the classes
            self._out = np.eye(len(out), dtype=out.dtype)
        self._normed = "level_norm.weight" in tensors
        if self._normed:
            layers = [layer * tensors["level_norm.weight"] for layer in layers]
            layers = [layer - layer.mean(axis=1, keepdims=True) for layer in layers]
        self._classifier, self._gate = layers

    def __call__(
        self,
        levels: Floats,
        mixture: Mixture,
        beliefs: Doubles,
        p: Doubles,
        by_vote: Callable[..., None],
        finish: Callable[..., None],
    ) -> Floats:
        """Derivatives of all classes but the last: those of all sum to 0, as p sums to 1.

        Parameters
        ----------
        levels, mixture
            (n, D) pooled levels, and what the head made of them.
        beliefs
            (n,) its beliefs in the order of the levels.
        p
            (C, n) probabilities of the text that each level is of.
        by_vote, finish
            :func:`by_vote_numpy` and :func:`finish_numpy`, or their compiled twins.

        Returns
        -------
        (C - 1, n, D).
        """
        # Of a softmax: dp_c = p_c (score_c - mean score). First the scores of the level's vote,
        # then the score of the level's belief.
        taken, votes = mixture.taken, mixture.votes
        shares = beliefs * votes[:-1]
        pulls = (shares - beliefs * p[:-1]).astype(levels.dtype)
        mean = votes.T.astype(levels.dtype) @ self._out
        moves = np.empty((len(shares), *mean.shape), dtype=levels.dtype)
        by_vote(self._out, mean, shares.astype(levels.dtype), mixture.hidden, moves)
        found: Floats = moves @ self._classifier
        finish(found, pulls, self._belief_gradient(taken), levels if self._normed else None)
        return found

    def _belief_gradient(self, levels: Floats) -> Floats:
        """(n, D), or (1, D) for all: derivative of the score behind a level's belief."""
        if self._mlp is None:
            return self._gate
        hidden = np.tanh(levels @ self._mlp.T + self._tensors["level_gate.score.0.bias"])
        slope = self._tensors["level_gate.score.2.weight"][0] * (1 - hidden * hidden)
        found: Floats = slope @ self._gate
        return found


def by_vote_numpy(
    out: Floats, mean: Floats, shares: Floats, rectified: Floats | None, moves: Floats
) -> None:
    """Fill ``moves`` (K, n, H), how shares of probability answer to the layer under the scores.

    Parameters
    ----------
    out, mean
        (C, H) the weights of the scores, and (n, H) their mean by each level's vote.
    shares
        (K, n) of the first K classes.
    rectified
        (n, H) what the layer's rectifier is applied to, None if it has none.
    """
    slope: Floats | None = None
    if rectified is not None:
        slope = rectified / KINK_WIDTH
        slope += np.float32(0.5)
        np.clip(slope, 0.0, 1.0, out=slope)
    # Class by class: what is written is read again while it is still in the cache.
    for move, weights, share in zip(moves, out, shares, strict=False):
        np.subtract(weights, mean, out=move)
        move *= share[:, None]
        if slope is not None:
            move *= slope


def finish_numpy(
    gradients: Floats, pulls: Floats, by_belief: Floats, levels: Floats | None
) -> None:
    """Add the part of the belief to gradients (K, n, D), and take them through the level norm.

    Parameters
    ----------
    pulls
        (K, n) how the probabilities answer to the score behind a level's belief.
    by_belief
        (n, D) or (1, D) the derivative of that score.
    levels
        (n, D) as they were pooled; None where they are not normalised.
    """
    if levels is not None:
        size = np.float32(levels.shape[1])
        centred = levels - levels.mean(axis=1, keepdims=True)
        squares = np.einsum("nd,nd->n", centred, centred) + size * NORM_EPS
        scale = np.sqrt(size / squares)[:, None]
    for gradient, pull in zip(gradients, pulls, strict=True):
        gradient += pull[:, None] * by_belief
        if levels is not None:
            along = np.einsum("nd,nd->n", gradient, centred) / squares
            gradient -= along[:, None] * centred
            gradient *= scale
