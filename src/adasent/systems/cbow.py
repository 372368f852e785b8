"""Continuous bag of words: the mean or maximum of the word vectors, classified by an MLP."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from adasent.checks import check_choice, check_range
from adasent.nn import LevelClassifier, Noise
from adasent.systems.base import (
    System,
    SystemConfig,
    SystemOutput,
    classify_sentences,
    pool_words,
    take_words,
)


@dataclass(frozen=True)
class CBowConfig(SystemConfig):
    """Shape of a cBoW network.

    Attributes
    ----------
    pooling
        ``mean`` or ``max`` over the words.
    classifier_size
        Hidden units of the classifier; 0 makes it linear.
    """

    pooling: str = "mean"
    classifier_size: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("pooling", self.pooling, ("mean", "max"))
        check_range("classifier_size", self.classifier_size, 0, 4096, whole=True)


class CBow(System):
    """The paper's equations (average) and (max)."""

    config_type = CBowConfig
    config: CBowConfig

    def __init__(self, config: CBowConfig) -> None:
        super().__init__(config)
        self.classifier = LevelClassifier(
            config.vector_size, config.classifier_size, config.n_classes
        )

    def classify(
        self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> SystemOutput:
        """Pool, then classify."""
        sentences = pool_words(take_words(vectors, lengths, noise), lengths, self.config.pooling)
        return SystemOutput(classify_sentences(self.classifier, sentences, noise))
