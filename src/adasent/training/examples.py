"""What the loop trains on: ids, target distributions and weights of N texts.

:class:`Examples` are those of one model, :class:`StackedExamples` those of K models on a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from adasent.text.batch import n_cells, pad
from adasent.text.passage import Passage
from adasent.text.vocabulary import PAD_ID

#: Texts to diagnose a network on, and units their pyramids may have: all of them are kept.
SAMPLE_TEXTS = 32
SAMPLE_UNITS = 20_000


@dataclass(frozen=True)
class Examples:
    """N encoded texts with their targets."""

    ids: list[np.ndarray]  # N arrays of word ids, none empty
    # (N, A) probabilities of the answers (adasent.nn.levels): one-hot for labels, or soft; they sum
    # to 1, or to C where a text may have several labels.
    targets: np.ndarray
    weights: np.ndarray  # (N,) non-negative weight of each text in the loss
    heights: list[np.ndarray] | None = None  # N trees (adasent.data.trees); None where unused
    passages: list[Passage] | None = None  # the N texts themselves; None where unused

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
            None if self.passages is None else [self.passages[i] for i in rows],
        )

    def sample(self, seed: int, height: int | None = None) -> Examples:
        """A few rows whose pyramids have so few units that keeping them costs little memory."""
        rows = np.random.default_rng(seed).permutation(len(self))
        n_units = n_cells(self.lengths, height)
        rows = rows[n_units[rows] <= SAMPLE_UNITS / 4]
        rows = rows[np.cumsum(n_units[rows]) <= SAMPLE_UNITS][:SAMPLE_TEXTS]
        return self.take(rows if len(rows) else np.array([n_units.argmin()]))

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All rows as one padded batch: ids, lengths, targets, weights."""
        batch = pad(self.ids)
        arrays = (batch.ids, batch.lengths, self.targets, self.weights)
        ids, lengths, targets, weights = (torch.from_numpy(array) for array in arrays)
        return ids, lengths, targets, weights


class StackedBatch(NamedTuple):
    """One batch of each of K models."""

    ids: Tensor  # (K, B, T) int32, padded with PAD_ID
    lengths: Tensor  # (K, B)
    targets: Tensor  # (K, B, A)
    weights: Tensor  # (K, B)
    trees: dict[str, Tensor]  # (K, B, T) heights as "structure"; empty for systems without


class StackedExamples:
    """The texts of K models, N of each at most, put on the device once.

    Words lie end to end, so that one long text does not widen the others. The row ``filler`` stands
    for no text: one padding word, of no weight.
    """

    def __init__(
        self, examples: Sequence[Examples], device: torch.device, dtype: torch.dtype
    ) -> None:
        self.filler = max(len(one) for one in examples)
        n_models, n_answers = len(examples), examples[0].targets.shape[1]
        n_words = 1 + max(int(one.lengths.sum()) for one in examples)
        words = np.full((n_models, n_words), PAD_ID, dtype=np.int32)
        starts = np.zeros((n_models, self.filler + 1), dtype=np.int64)
        lengths = np.ones_like(starts)
        targets = np.zeros((*starts.shape, n_answers))
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
        at *= place < lengths.unsqueeze(-1)  # word 0 is padding
        ids = self.words.gather(1, at.flatten(1)).view(at.shape)
        trees = {}
        if self.heights is not None:
            trees["structure"] = self.heights.gather(1, at.flatten(1)).view(at.shape)
        answers = rows.unsqueeze(-1).expand(-1, -1, self.targets.shape[-1])
        return StackedBatch(
            ids,
            lengths,
            self.targets.gather(1, answers),
            self.weights.gather(1, rows),
            trees,
        )

    def keep(self, models: Tensor) -> None:
        """Drop all models but these."""
        for name in ("words", "starts", "lengths", "targets", "weights", "heights"):
            tensor = getattr(self, name)
            if tensor is not None:
                setattr(self, name, tensor.index_select(0, models))
