"""Continuous bag of words: the mean or maximum of the word vectors, classified by an MLP."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from adasent.checks import check_choice
from adasent.nn import LevelClassifier
from adasent.systems.base import SentenceSystem, pool_words
from adasent.systems.config import SystemConfig, checked, whole


@dataclass(frozen=True)
class CBowConfig(SystemConfig):
    """Shape of a cBoW network."""

    #: Over the words.
    pooling: str = checked("mean", check_choice, ("mean", "max"))
    #: Hidden units of the classifier; 0 makes it linear.
    classifier_size: int = whole(100, 0, 4096)


class CBow(SentenceSystem):
    """The paper's equations (average) and (max)."""

    config_type = CBowConfig
    config: CBowConfig

    def __init__(self, config: CBowConfig) -> None:
        super().__init__(config)
        self.classifier = LevelClassifier(
            config.vector_size, config.classifier_size, config.n_classes, config.multilabel
        )

    def sentences(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Pooled words."""
        return pool_words(words, lengths, self.config.pooling)
