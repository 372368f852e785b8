"""From pooled levels to probabilities: how much each level is believed, what it says, the mixture.

p(c) = sum over levels of belief x level prediction, whether a text has one class or may have
several: only what a level says differs, a softmax over the classes or a sigmoid for each. For that
sum, levels follow each other text after text, and ``firsts`` are the first level of each text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from adasent.errors import AdaSentError
from adasent.runtime.arrays import Doubles, Floats, Ints

OVERFLOW = (
    "the network overflows on these texts; its weights are far too large: "
    "train again with a lower learning_rate, a higher penalty or activation='tanh'"
)


def check_finite(*arrays: np.ndarray) -> None:
    """Raise ``AdaSentError`` where what was computed holds NaN or infinity."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise AdaSentError(OVERFLOW)


#: Added to a variance before its root is taken, as torch does.
NORM_EPS = np.float32(1e-5)


def norm_rows(levels: Floats, gain: Floats, offset: Floats) -> Floats:
    """(n, D) rows of mean 0 and variance 1, times the gain, plus the offset."""
    centred: Floats = levels - levels.mean(axis=1, keepdims=True)
    variance = np.einsum("nd,nd->n", centred, centred) / np.float32(levels.shape[1])
    centred /= np.sqrt(variance + NORM_EPS)[:, None]
    centred *= gain
    centred += offset
    return centred


class LevelHead:
    """The norm, the level gate w and the classifier g that all levels share."""

    def __init__(self, tensors: Mapping[str, np.ndarray], *, multilabel: bool = False) -> None:
        self.multilabel = multilabel
        own = ("level_norm.", "level_gate.", "classifier.")
        self.tensors = {name: t for name, t in tensors.items() if name.startswith(own)}

    def normalise(self, levels: Floats, norm: Callable[..., Floats] = norm_rows) -> Floats:
        """(n, D) pooled levels as gate and classifier take them; ``norm`` is a twin of ours."""
        if "level_norm.weight" not in self.tensors:
            return levels
        gain, offset = self.tensors["level_norm.weight"], self.tensors["level_norm.bias"]
        return norm(levels, gain, offset)

    def scores(self, levels: Floats) -> Doubles:
        """(n, D) normalised levels -> (n,) scores; a text's softmax over them is the belief."""
        if "level_gate.score.weight" in self.tensors:
            scores = self._linear("level_gate.score", levels)
        else:
            hidden = np.tanh(self._linear("level_gate.score.0", levels))
            scores = self._linear("level_gate.score.2", hidden)
        return scores[:, 0].astype(np.float64)

    def hidden(self, levels: Floats) -> Floats | None:
        """(n, D) normalised levels -> (n, H) what the classifier rectifies, None if nothing."""
        if "classifier.hidden.weight" not in self.tensors:
            return None
        return self._linear("classifier.hidden", levels)

    def log_probs(self, levels: Floats) -> Doubles:
        """(n, D) normalised levels -> (C, n) log probabilities of the classes."""
        hidden = self.hidden(levels)
        return self.vote(levels if hidden is None else np.maximum(hidden, 0.0, out=hidden))

    def vote(self, features: Floats) -> Doubles:
        """The same from :meth:`hidden`, rectified, or where it is None from the levels."""
        # Classes first: sums over a handful of classes are then sums of long rows.
        scores = self._linear("classifier.out", features).T.astype(np.float64, order="C")
        if self.multilabel:
            # What overflowed must not look certain: its difference from itself is not a number.
            return -np.logaddexp(0.0, -scores) + (scores - scores)
        scores -= scores.max(axis=0)
        scores -= np.log(np.exp(scores).sum(axis=0))
        return scores

    def _linear(self, name: str, values: Floats) -> Floats:
        product: Floats = values @ self.tensors[f"{name}.weight"].T
        product += self.tensors[f"{name}.bias"]
        return product


def beliefs(scores: Doubles, firsts: Ints) -> Doubles:
    """(n_levels,) softmax of the scores over the levels of each text."""
    n_levels = np.append(firsts[1:], len(scores)) - firsts
    powers: Doubles = np.exp(scores - np.repeat(np.maximum.reduceat(scores, firsts), n_levels))
    powers /= np.repeat(np.add.reduceat(powers, firsts), n_levels)
    return powers


def consensus(beliefs: Doubles, log_probs: Doubles, firsts: Ints) -> Doubles:
    """(C, n) probabilities from beliefs (n_levels,) and level predictions (C, n_levels)."""
    mixed: Doubles = np.add.reduceat(beliefs * np.exp(log_probs), firsts, axis=1)
    return mixed


def settled(mixed: Doubles, *, multilabel: bool) -> Doubles:
    """(n, C) of :func:`consensus` without rounding, or an error where the network overflowed.

    Rows sum to 1 exactly; where a text may have several labels, nothing is beyond 1.
    """
    total: Doubles = mixed.sum(axis=1, keepdims=True)
    if not (np.isfinite(total) & (multilabel | (total > 0))).all():
        raise AdaSentError(OVERFLOW)
    return np.minimum(mixed, 1.0) if multilabel else mixed / total
