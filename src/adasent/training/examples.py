"""What the loop trains on: ids, target distributions and weights of N texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from adasent.text.batch import pad


@dataclass(frozen=True)
class Examples:
    """N encoded texts with their targets.

    Attributes
    ----------
    ids
        N arrays of word ids, none empty.
    targets
        (N, C) probabilities: one-hot for labels, anything that sums to 1 for soft targets.
    weights
        (N,) non-negative weight of each text in the loss.
    heights
        N trees, one whole number a word (:mod:`adasent.data.trees`); None for systems without.
    """

    ids: list[np.ndarray]
    targets: np.ndarray
    weights: np.ndarray
    heights: list[np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> np.ndarray:
        """(N,) words of each text."""
        return np.array([len(row) for row in self.ids], dtype=np.int64)

    def take(self, rows: np.ndarray) -> Examples:
        """The given rows, in that order."""
        return Examples(
            [self.ids[i] for i in rows],
            self.targets[rows],
            self.weights[rows],
            None if self.heights is None else [self.heights[i] for i in rows],
        )

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All rows as one padded batch: ids, lengths, targets, weights."""
        batch = pad(self.ids)
        arrays = (batch.ids, batch.lengths, self.targets, self.weights)
        ids, lengths, targets, weights = (torch.from_numpy(array) for array in arrays)
        return ids, lengths, targets, weights
