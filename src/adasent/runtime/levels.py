"""Pooled levels in; how much each is believed, and what it says, out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adasent.runtime.arrays import Doubles, Floats


class LevelHead:
    """The level gate w and the classifier g that all levels share."""

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        own = ("level_gate.", "classifier.")
        self.tensors = {name: t for name, t in tensors.items() if name.startswith(own)}

    def scores(self, levels: Floats) -> Doubles:
        """(n, D) pooled levels -> (n,) scores whose softmax over a text's levels is the belief."""
        if "level_gate.score.weight" in self.tensors:
            scores = self._linear("level_gate.score", levels)
        else:
            hidden = np.tanh(self._linear("level_gate.score.0", levels))
            scores = self._linear("level_gate.score.2", hidden)
        return scores[:, 0].astype(np.float64)

    def log_probs(self, levels: Floats) -> Doubles:
        """(n, D) pooled levels -> (C, n) log probabilities of the classes."""
        features = levels
        if "classifier.hidden.weight" in self.tensors:
            hidden = self._linear("classifier.hidden", levels)
            features = np.maximum(hidden, 0.0, out=hidden)
        # Classes first: sums over a handful of classes are then sums of long rows.
        scores = self._linear("classifier.out", features).T.astype(np.float64, order="C")
        scores -= scores.max(axis=0)
        scores -= np.log(np.exp(scores).sum(axis=0))
        return scores

    def _linear(self, name: str, values: Floats) -> Floats:
        product: Floats = values @ self.tensors[f"{name}.weight"].T
        product += self.tensors[f"{name}.bias"]
        return product
