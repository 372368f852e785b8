"""What the networks share: the module that the loop trains, and parts for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from adasent.nn import GatedComposition, LevelClassifier, Noise, WordEmbedding, keyed_dropout
from adasent.nn.dropout import VECTORS
from adasent.systems.config import SystemConfig as SystemConfig
from adasent.text.vocabulary import SPECIALS


class Prediction(Protocol):
    """What the loop reads of any system's output."""

    @property
    def log_probs(self) -> Tensor:
        """(B, A) of the answers: the classes, or yes and no to each; see adasent.nn.levels."""


class SystemOutput(NamedTuple):
    """What a system says of B sentences."""

    log_probs: Tensor  # (B, A)


class System(nn.Module):
    """A word table and a network over its vectors.

    ``classify`` must give a sentence the same result whatever its neighbours and its padding, and
    use tensor operations only, of shapes that do not depend on values: the training loop maps it
    over the weights of several models.
    """

    #: The dataclass that fixes the network's shape; each subclass names its own.
    config_type: ClassVar[type[SystemConfig]]
    #: Whether prediction on CUDA leaves lengths on the CPU: a pyramid then computes no padding.
    host_lengths: ClassVar[bool] = False

    def __init__(self, config: SystemConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = WordEmbedding(config.n_trained, config.n_fixed, config.vector_size)

    def forward(self, ids: Tensor, lengths: Tensor) -> Prediction:
        """Classify a padded batch: (B, T) ids, (B,) lengths of at least 1."""
        return self.classify(self.embedding(ids), lengths)

    def forget_words(self) -> None:
        """Leave of the word table the specials alone: an encoder makes the vectors."""
        n, size = len(SPECIALS), self.config.vector_size
        self.config = replace(self.config, n_trained=n, n_fixed=0)
        self.embedding = WordEmbedding(n, 0, size)

    def classify(self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None) -> Prediction:
        """The same from word vectors (B, T, d) on; ``noise`` while training."""
        raise NotImplementedError

    def start_at(self, shares: Tensor) -> None:
        """Begin with the share (C,) of texts that have each class, where they may have several."""
        classifier = getattr(self, "classifier", None)
        if isinstance(classifier, LevelClassifier):
            classifier.start_at(shares)

    @classmethod
    def widen(cls, table: np.ndarray, settings: Mapping[str, Any]) -> np.ndarray:
        """The first word table (V, d) as a network with these settings takes it."""
        return table

    def output_layer(self) -> nn.Linear | None:
        """What the softmax takes comes from this layer, in proportion to its weights and offsets.

        None where it does not, so that they cannot be scaled to calibrate the network.
        """
        classifier = getattr(self, "classifier", None)
        return classifier.out if isinstance(classifier, LevelClassifier) else None

    def loss(self, output: Any, targets: Tensor) -> Tensor:
        """(B,) loss of each sentence, from what ``classify`` gave; targets are (B, A)."""
        return cross_entropy(output.log_probs, targets)

    def penalty(self) -> Tensor:
        """What the penalty's weight multiplies; nothing here."""
        return torch.zeros((), device=self.embedding.trained.device)

    def recordable(self, device: torch.device) -> bool:
        """Whether a step on this device can be recorded and replayed."""
        return all(m.recordable(device) for m in self.modules() if isinstance(m, GatedComposition))

    def diagnostics(self, ids: Tensor, lengths: Tensor, targets: Tensor) -> dict[str, Any]:
        """Columns to add to an epoch's row of the history, measured on a few texts; none here."""
        return {}


class SentenceSystem(System):
    """A system that makes one vector of a sentence and classifies it."""

    classifier: LevelClassifier

    def classify(
        self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> SystemOutput:
        """Drop words, make sentences of them, classify."""
        sentences = self.sentences(take_words(vectors, lengths, noise), lengths)
        return SystemOutput(classify_sentences(self.classifier, sentences, noise))

    def sentences(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, d) words, zeros beyond each sentence -> (B, D)."""
        raise NotImplementedError


def cross_entropy(log_probs: Tensor, targets: Tensor) -> Tensor:
    """(B,) negative log-likelihood of targets (B, A) over the answers.

    Where a text may have several classes, that is the sum of their binary cross-entropies.
    """
    # A class of probability 0 adds nothing, also where its log probability is -inf.
    return -torch.where(targets > 0, targets * log_probs, 0.0).sum(dim=1)


def exists(vectors: Tensor, lengths: Tensor) -> Tensor:
    """(B, T) True where a sentence of a padded batch has a word."""
    positions = torch.arange(vectors.shape[1], device=vectors.device)
    return positions < lengths_beside(vectors, lengths)[:, None]


def lengths_beside(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Lengths on the device of the vectors; the host does not wait until they are there."""
    return lengths.to(vectors.device, non_blocking=vectors.is_cuda)


def drop_words(vectors: Tensor, noise: Noise | None) -> Tensor:
    """Word vectors (B, T, d) under dropout while training."""
    if noise is None:
        return vectors
    return keyed_dropout(vectors, noise.key, noise.vector_rate, VECTORS)


def take_words(vectors: Tensor, lengths: Tensor, noise: Noise | None) -> Tensor:
    """Word vectors under dropout while training, and zeros beyond each sentence."""
    return drop_words(vectors, noise).masked_fill(~exists(vectors, lengths)[:, :, None], 0.0)


def pool_words(words: Tensor, lengths: Tensor, pooling: str) -> Tensor:
    """Mean or maximum over the words of each sentence, (B, T, D) -> (B, D)."""
    inside = exists(words, lengths)[:, :, None]
    if pooling == "max":
        return words.masked_fill(~inside, float("-inf")).amax(dim=1)
    return words.masked_fill(~inside, 0.0).sum(dim=1) / lengths.to(words)[:, None]


def classify_sentences(
    classifier: LevelClassifier, sentences: Tensor, noise: Noise | None
) -> Tensor:
    """One vector a sentence (B, D) -> (B, A) log probabilities."""
    return classifier(sentences[:, None], noise)[:, 0]  # type: ignore[no-any-return]
