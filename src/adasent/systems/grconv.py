"""GrConv (Cho et al. 2014): AdaSent's pyramid, of which only the root is kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from adasent.checks import check_choice, check_range
from adasent.nn import GatedComposition, LevelClassifier, Noise, Projection
from adasent.systems.base import (
    System,
    SystemConfig,
    SystemOutput,
    classify_sentences,
    take_words,
)


@dataclass(frozen=True)
class GrConvConfig(SystemConfig):
    """Shape of a GrConv network; see ``AdaSentConfig`` for the meaning of each field."""

    hidden_size: int = 100
    activation: str = "tanh"
    classifier_size: int = 100
    copy_bias: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("hidden_size", self.hidden_size, 1, 4096, whole=True)
        check_choice("activation", self.activation, ("tanh", "relu"))
        check_range("classifier_size", self.classifier_size, 0, 4096, whole=True)
        check_range("copy_bias", self.copy_bias, -20, 20)


class GrConv(System):
    """The top of the pyramid as a fixed-length sentence vector."""

    config_type = GrConvConfig
    config: GrConvConfig

    def __init__(self, config: GrConvConfig) -> None:
        super().__init__(config)
        self.projection = Projection(config.vector_size, config.hidden_size)
        self.composition = GatedComposition(
            config.hidden_size,
            activation=config.activation,
            pooling="mean",  # the root is the only unit of its level
            gate_size=None,
            copy_bias=config.copy_bias,
        )
        self.classifier = LevelClassifier(
            config.hidden_size, config.classifier_size, config.n_classes
        )

    def classify(
        self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> SystemOutput:
        """Build the pyramid, classify its root."""
        words = self.projection(take_words(vectors, lengths, noise))
        levels = self.composition(words, lengths)  # (B, T, D)
        top = lengths.to(levels.device)[:, None, None] - 1
        root = torch.take_along_dim(levels, top, dim=1)[:, 0]
        return SystemOutput(classify_sentences(self.classifier, root, noise))

    def penalty(self) -> Tensor:
        """||W_L||_F^2 + ||W_R||_F^2, as for AdaSent."""
        composition = self.composition
        return composition.compose_left.square().sum() + composition.compose_right.square().sum()
