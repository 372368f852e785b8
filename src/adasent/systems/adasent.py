"""AdaSent: ids of a batch of sentences -> log probabilities, with the beliefs that made them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from adasent.nn import (
    GatedComposition,
    LevelClassifier,
    LevelGate,
    Projection,
    WordEmbedding,
    consensus,
)
from adasent.pyramid.weights import Pyramid
from adasent.systems.config import AdaSentConfig


class AdaSentOutput(NamedTuple):
    """What the network says of B sentences of at most L words."""

    log_probs: Tensor  # (B, C) log p(C = c | x)
    log_beliefs: Tensor  # (B, L) log gamma_t; -inf above a sentence's top level
    level_log_probs: Tensor  # (B, L, C) log p(C = c | H_x = t)
    pyramid: Pyramid


class AdaSent(nn.Module):
    """Embedding, projection, pyramid, level gate and classifier, composed."""

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = WordEmbedding(config.n_trained, config.n_fixed, config.vector_size)
        self.vector_dropout = nn.Dropout(0.0)
        self.projection = Projection(config.vector_size, config.hidden_size)
        self.composition = GatedComposition(
            config.hidden_size,
            activation=config.activation,
            pooling=config.pooling,
            gate_size=config.gate_size if config.local_gate == "mlp" else None,
            copy_bias=config.copy_bias,
        )
        self.level_gate = LevelGate(
            config.hidden_size, config.gate_size if config.level_gate == "mlp" else None
        )
        self.classifier = LevelClassifier(
            config.hidden_size, config.classifier_size, config.n_classes
        )

    def forward(self, ids: Tensor, lengths: Tensor, *, keep_units: bool = False) -> AdaSentOutput:
        """Classify a padded batch.

        Parameters
        ----------
        ids
            (B, T) word ids.
        lengths
            (B,) words of each sentence, at least 1, on the CPU.
        keep_units
            Keep every unit and gate of the pyramids, for explanations and gradient flow.
        """
        return self.classify(self.embedding(ids), lengths, keep_units=keep_units)

    def classify(
        self, vectors: Tensor, lengths: Tensor, *, keep_units: bool = False
    ) -> AdaSentOutput:
        """The same from word vectors (B, T, d) on: a contextual encoder may provide them."""
        words = self.projection(self.vector_dropout(vectors))  # (B, T, D)
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        pyramid = self.composition(packed, keep_units=keep_units)
        levels, _ = pad_packed_sequence(pyramid.levels, batch_first=True)  # (B, L, D)
        exists = torch.arange(levels.shape[1]) < lengths[:, None]
        log_beliefs = self.level_gate(levels, exists.to(levels.device))  # (B, L)
        level_log_probs = self.classifier(levels)  # (B, L, C)
        return AdaSentOutput(
            consensus(log_beliefs, level_log_probs), log_beliefs, level_log_probs, pyramid
        )

    def set_dropout(self, vectors: float, hidden: float) -> None:
        """Dropout rates while training: on word vectors, and before each classifier layer."""
        self.vector_dropout.p = vectors
        self.classifier.dropout.p = hidden
