"""CNN (Kim 2014): windows of words, maximum over time, dropout, a softmax under a norm limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adasent.checks import check_flag, check_range
from adasent.nn import Noise, apply_linear, keyed_dropout, log_answers
from adasent.nn.dropout import HIDDEN
from adasent.systems.base import System, SystemOutput, take_words
from adasent.systems.config import SystemConfig, checked, whole


@dataclass(frozen=True)
class CnnConfig(SystemConfig):
    """Shape of a CNN.

    Rand, static and non-static differ in the vectors and in ``fine_tune``, not here.
    """

    #: Words a filter sees.
    windows: tuple[int, ...] = (3, 4, 5)
    #: Filters of each window.
    n_maps: int = whole(100, 1, 4096)
    #: Largest Euclidean norm of the weights of a class; 0 sets no limit.
    max_norm: float = checked(3.0, check_range, 0)
    #: A word's vector is given twice, side by side: the first half is tuned, the second stays.
    #: Filters apply to both and their results are added.
    multichannel: bool = checked(False, check_flag)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "windows", tuple(self.windows))
        check_range("windows, how many,", len(self.windows), 1, 100)
        for window in self.windows:
            check_range("windows", window, 1, 100, whole=True)
        if self.multichannel:
            check_range("half the vector_size", self.vector_size / 2, 1, whole=True)


class Cnn(System):
    """One layer of convolution over word vectors."""

    config_type = CnnConfig
    config: CnnConfig

    def __init__(self, config: CnnConfig) -> None:
        super().__init__(config)
        size = config.vector_size // (2 if config.multichannel else 1)
        self.filters = nn.ModuleList(nn.Linear(w * size, config.n_maps) for w in config.windows)
        self.out = nn.Linear(len(config.windows) * config.n_maps, config.n_classes)

    @classmethod
    def widen(cls, table: np.ndarray, settings: Mapping[str, Any]) -> np.ndarray:
        """Twice side by side where there are two channels."""
        return np.concatenate([table, table], axis=1) if settings["multichannel"] else table

    def classify(
        self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> SystemOutput:
        """Convolve with every window, take the maximum over time, classify."""
        words = take_words(vectors, lengths, noise)
        if self.config.multichannel:
            tuned, static = words.chunk(2, dim=-1)
            # A filter's results on both channels are added: it may see their sum.
            words = tuned + static.detach()
        margin = max(self.config.windows) - 1
        words = F.pad(words, (0, 0, margin, margin))  # every window meets every word
        pooled = []
        for window, layer in zip(self.config.windows, self.filters, strict=True):
            assert isinstance(layer, nn.Linear)
            n_places = words.shape[1] - window + 1
            seen = torch.cat([words[:, i : i + n_places] for i in range(window)], dim=2)
            maps = torch.relu(apply_linear(layer, seen))  # (B, places, n_maps)
            # A window may hang over the margins, but must not lie beyond the sentence's own.
            places = torch.arange(n_places, device=words.device)
            allowed = places < lengths.to(words.device)[:, None] + 2 * margin - window + 1
            pooled.append(maps.masked_fill(~allowed[:, :, None], 0.0).amax(dim=1))
        features = torch.cat(pooled, dim=1)
        if noise is not None:
            features = keyed_dropout(features[:, None], noise.key, noise.hidden_rate, HIDDEN)[:, 0]
        scores = F.linear(features, self._limited(self.out.weight), self.out.bias)
        return SystemOutput(log_answers(scores, self.config.multilabel))

    def output_layer(self) -> nn.Linear | None:
        """None under a norm limit: weights that are scaled may be limited anew."""
        return None if self.config.max_norm else self.out

    def _limited(self, weight: Tensor) -> Tensor:
        """Rows scaled to the norm limit.

        Kim rescales the weights themselves after an update; scaling them at use leaves the same
        function.
        """
        if not self.config.max_norm:
            return weight
        norms = weight.detach().norm(dim=1, keepdim=True)
        limited: Tensor = weight * (self.config.max_norm / norms.clamp(min=self.config.max_norm))
        return limited
