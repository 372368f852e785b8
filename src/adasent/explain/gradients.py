"""How the probability of each class answers to the pooled levels: the head, differentiated."""

from __future__ import annotations

import numpy as np

from adasent.runtime.arrays import Doubles, Floats
from adasent.runtime.levels import LevelHead

#: So near the kink of a rectifier its derivative goes from 0 to 1; rounding must not decide.
KINK = np.float32(0.01)


def level_gradients(head: LevelHead, levels: Floats, beliefs: Doubles, votes: Doubles) -> Floats:
    """Derivative of p(c) = sum of belief x vote by every pooled level, through both factors.

    Probabilities sum to 1, so the derivatives of the classes sum to 0 and the last one is left out.

    Parameters
    ----------
    levels
        (T, B, D) pooled levels.
    beliefs, votes
        (T, B) and (T, B, C).

    Returns
    -------
    (C - 1, T, B, D).
    """
    shares = beliefs[..., None] * votes  # (T, B, C)
    # Of a softmax: dp_c = p_c (score_c - mean score). First the scores of the level's vote ...
    tensors = head.tensors
    out = tensors["classifier.out.weight"]  # (C, H) or (C, D)
    moves = out[:-1, None, None] - (votes.astype(np.float32) @ out)  # (C - 1, T, B, H)
    moves *= np.moveaxis(shares, -1, 0)[:-1, ..., None].astype(np.float32)
    if "classifier.hidden.weight" in tensors:
        hidden = levels @ tensors["classifier.hidden.weight"].T
        hidden += tensors["classifier.hidden.bias"]
        moves *= np.clip(hidden / KINK + 0.5, 0.0, 1.0)
        moves = moves @ tensors["classifier.hidden.weight"]
    # ... then the score of the level's belief.
    p = shares.sum(axis=0)
    pull = np.moveaxis(shares - beliefs[..., None] * p, -1, 0)[:-1, ..., None].astype(np.float32)
    moves += pull * _belief_gradient(head, levels)
    gradients: Floats = moves
    return gradients


def _belief_gradient(head: LevelHead, levels: Floats) -> Floats:
    """Derivative of the score behind a level's belief: (D,), or (T, B, D) where it is an MLP."""
    tensors = head.tensors
    if "level_gate.score.weight" in tensors:
        linear: Floats = tensors["level_gate.score.weight"][0]
        return linear
    inner = tensors["level_gate.score.0.weight"]
    hidden = np.tanh(levels @ inner.T + tensors["level_gate.score.0.bias"])
    found: Floats = (tensors["level_gate.score.2.weight"][0] * (1 - hidden * hidden)) @ inner
    return found
