"""GrConv (Cho et al. 2014): AdaSent's pyramid, of which only the root is kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from adasent.checks import check_choice, check_range
from adasent.nn import GatedComposition, LevelClassifier, Projection
from adasent.systems.base import SentenceSystem, lengths_beside
from adasent.systems.config import SystemConfig, checked, whole


@dataclass(frozen=True)
class GrConvConfig(SystemConfig):
    """Shape of a GrConv network; see ``AdaSentConfig`` for the meaning of each field."""

    hidden_size: int = whole(100, 1, 4096)
    activation: str = checked("tanh", check_choice, ("tanh", "relu"))
    classifier_size: int = whole(100, 0, 4096)
    copy_bias: float = checked(0.0, check_range, -20, 20)


class GrConv(SentenceSystem):
    """The top of the pyramid as a fixed-length sentence vector."""

    config_type = GrConvConfig
    host_lengths = True
    config: GrConvConfig

    def __init__(self, config: GrConvConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.projection = Projection(config.vector_size, size)
        self.composition = GatedComposition(
            size,
            activation=config.activation,
            pooling="mean",  # the root is the only unit of its level
            gate_size=None,
            copy_bias=config.copy_bias,
        )
        self.classifier = LevelClassifier(
            size, config.classifier_size, config.n_classes, config.multilabel
        )

    def sentences(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The roots of the pyramids."""
        levels = self.composition(self.projection(words), lengths)  # (B, T, D)
        top = lengths_beside(levels, lengths)[:, None, None] - 1
        return torch.take_along_dim(levels, top, dim=1)[:, 0]

    def penalty(self) -> Tensor:
        """||W_L||_F^2 + ||W_R||_F^2, as for AdaSent."""
        composition = self.composition
        return composition.compose_left.square().sum() + composition.compose_right.square().sum()
