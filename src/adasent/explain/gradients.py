"""How the probability of each class answers to the pooled levels: the head, differentiated."""

from __future__ import annotations

import numpy as np

from adasent.runtime.arrays import Doubles, Floats
from adasent.runtime.levels import NORM_EPS, LevelHead

#: So near the kink of a rectifier its derivative goes from 0 to 1; rounding must not decide.
KINK = np.float32(0.01)


def level_gradients(
    head: LevelHead, levels: Floats, beliefs: Doubles, votes: Doubles, p: Doubles
) -> Floats:
    """Derivative of p(c) = sum of belief x vote by every pooled level, through both factors.

    Probabilities sum to 1, so the derivatives of the classes sum to 0 and the last one is left out.

    Parameters
    ----------
    levels
        (n, D) pooled levels.
    beliefs, votes
        (n,) and (C, n).
    p
        (C, n) probabilities of the text that each level is of.

    Returns
    -------
    (C - 1, n, D).
    """
    # Of a softmax: dp_c = p_c (score_c - mean score). First the scores of the level's vote, then
    # the score of the level's belief.
    shares = beliefs * votes
    pulls = (shares - beliefs * p).astype(np.float32)
    shares = shares.astype(np.float32)
    tensors = head.tensors
    taken = head.normalise(levels)
    out = tensors["classifier.out.weight"]  # (C, H) or (C, D)
    mean = votes.T.astype(np.float32) @ out
    belief_gradient = _belief_gradient(head, taken)
    slope: Floats | None = None
    if "classifier.hidden.weight" in tensors:
        inner = tensors["classifier.hidden.weight"]
        slope = taken @ inner.T
        slope += tensors["classifier.hidden.bias"]
        slope /= KINK
        slope += np.float32(0.5)
        np.clip(slope, 0.0, 1.0, out=slope)
    found = np.empty((len(out) - 1, *levels.shape), dtype=levels.dtype)
    moves = np.empty_like(mean)
    # Class by class: what is written is read again while it is still in the cache.
    for c, gradient in enumerate(found):
        np.subtract(out[c], mean, out=moves)
        moves *= shares[c, :, None]
        if slope is None:
            gradient[:] = moves
        else:
            moves *= slope
            np.matmul(moves, inner, out=gradient)
        gradient += pulls[c, :, None] * belief_gradient
    return _through_norm(head, levels, found)


def _through_norm(head: LevelHead, levels: Floats, gradients: Floats) -> Floats:
    """Derivatives by normalised levels -> by the levels as they were pooled."""
    if "level_norm.weight" not in head.tensors:
        return gradients
    centred = levels - levels.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt(np.einsum("nd,nd->n", centred, centred) / len(centred[0]) + NORM_EPS)
    centred *= scale[:, None]
    for gradient in gradients:
        gradient *= head.tensors["level_norm.weight"]
        along = np.einsum("nd,nd->n", gradient, centred) / len(centred[0])
        gradient -= gradient.mean(axis=1, keepdims=True)
        gradient -= along[:, None] * centred
        gradient *= scale[:, None]
    return gradients


def _belief_gradient(head: LevelHead, levels: Floats) -> Floats:
    """Derivative of the score behind a level's belief: (D,), or (n, D) where it is an MLP."""
    tensors = head.tensors
    if "level_gate.score.weight" in tensors:
        linear: Floats = tensors["level_gate.score.weight"][0]
        return linear
    inner = tensors["level_gate.score.0.weight"]
    hidden = np.tanh(levels @ inner.T + tensors["level_gate.score.0.bias"])
    found: Floats = (tensors["level_gate.score.2.weight"][0] * (1 - hidden * hidden)) @ inner
    return found
