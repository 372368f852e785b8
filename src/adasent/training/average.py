"""A running mean of the weights of K models: smoother than the last weights, and what is kept.

The mean takes in the weights at a few moments of each epoch. It is a plain mean of them until it is
as old as its memory, and forgets from then on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

#: Moments of an epoch at which the mean takes the weights in; the last one is its end.
MOMENTS = 10


class RunningMean:
    """The mean of dense weights (K, P) and, where they are trained, of word tables (K, V, d).

    Parameters
    ----------
    memory
        Epochs of each model that the mean goes back; with 0 it is the last weights.
    """

    def __init__(self, weights: Tensor, table: Tensor | None, memory: Sequence[float]) -> None:
        self.state = {
            "mean_weights": weights.clone(),
            "mean_memory": torch.tensor(memory, dtype=torch.float64),
            "mean_count": torch.zeros(len(memory), dtype=torch.float64),
        }
        if table is not None:
            self.state["mean_table"] = table.clone()

    def take(self, models: Sequence[int], weights: Tensor, table: Tensor) -> None:
        """Take in the present weights of some models."""
        count, memory = self.state["mean_count"], self.state["mean_memory"]
        for k in models:
            count[k] += 1
            share = 1 / max(1.0, min(float(count[k]), MOMENTS * float(memory[k])))
            self.state["mean_weights"][k].lerp_(weights[k], share)
            if "mean_table" in self.state:
                self.state["mean_table"][k].lerp_(table[k], share)


def moments(n_rows: np.ndarray) -> list[list[int]]:
    """(S, K) texts of each step and model -> the models whose mean takes part after each step."""
    works = n_rows > 0
    total = works.sum(axis=0)
    passed = np.cumsum(works, axis=0) * MOMENTS // np.maximum(total, 1)  # (S, K)
    new = np.diff(passed, axis=0, prepend=0) > 0
    return [np.flatnonzero(row).tolist() for row in new]
