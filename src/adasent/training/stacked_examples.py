"""The texts of K models on a device, put there once; rows in, padded batches of all models out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from adasent.text.vocabulary import PAD_ID
from adasent.training.examples import Examples


class StackedBatch(NamedTuple):
    """One batch of each of K models."""

    ids: Tensor  # (K, B, T) int32, padded with PAD_ID
    lengths: Tensor  # (K, B)
    targets: Tensor  # (K, B, C)
    weights: Tensor  # (K, B)
    structure: Tensor | None  # (K, B, T) heights of the trees


class StackedExamples:
    """Texts of K models, N of each at most.

    Words lie end to end, so that one long text does not widen the others.

    Attributes
    ----------
    filler
        Row that stands for no text: one padding word, of no weight.
    """

    def __init__(
        self, examples: Sequence[Examples], device: torch.device, dtype: torch.dtype
    ) -> None:
        self.filler = max(len(one) for one in examples)
        n_models, n_classes = len(examples), examples[0].targets.shape[1]
        n_words = 1 + max(int(one.lengths.sum()) for one in examples)
        words = np.full((n_models, n_words), PAD_ID, dtype=np.int32)
        starts = np.zeros((n_models, self.filler + 1), dtype=np.int64)
        lengths = np.ones_like(starts)
        targets = np.zeros((*starts.shape, n_classes))
        weights = np.zeros(starts.shape)
        heights = None if examples[0].heights is None else np.zeros_like(words)
        for k, one in enumerate(examples):
            n = len(one)
            lengths[k, :n] = one.lengths
            starts[k, :n] = 1 + np.cumsum(one.lengths) - one.lengths
            words[k, 1 : 1 + one.lengths.sum()] = np.concatenate(one.ids)
            targets[k, :n] = one.targets
            weights[k, :n] = one.weights
            if heights is not None and one.heights is not None:
                heights[k, 1 : 1 + one.lengths.sum()] = np.concatenate(one.heights)
        self.words = torch.from_numpy(words).to(device)
        self.starts = torch.from_numpy(starts).to(device)
        self.lengths = torch.from_numpy(lengths).to(device)
        self.targets = torch.from_numpy(targets).to(device, dtype)
        self.weights = torch.from_numpy(weights).to(device, dtype)
        self.heights = None if heights is None else torch.from_numpy(heights).to(device)

    def batch(self, rows: Tensor, width: int) -> StackedBatch:
        """The given rows (K, B) of each model, padded to ``width`` words."""
        lengths = self.lengths.gather(1, rows)
        place = torch.arange(width, device=rows.device)
        at = self.starts.gather(1, rows).unsqueeze(-1) + place  # (K, B, T)
        at = torch.where(place < lengths.unsqueeze(-1), at, 0)  # word 0 is padding
        ids = self.words.gather(1, at.flatten(1)).view(at.shape)
        structure = None
        if self.heights is not None:
            structure = self.heights.gather(1, at.flatten(1)).view(at.shape)
        classes = rows.unsqueeze(-1).expand(-1, -1, self.targets.shape[-1])
        return StackedBatch(
            ids,
            lengths,
            self.targets.gather(1, classes),
            self.weights.gather(1, rows),
            structure,
        )

    def keep(self, models: Tensor) -> None:
        """Drop all models but these."""
        for name in ("words", "starts", "lengths", "targets", "weights", "heights"):
            tensor = getattr(self, name)
            if tensor is not None:
                setattr(self, name, tensor.index_select(0, models))
