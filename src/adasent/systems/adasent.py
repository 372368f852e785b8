"""AdaSent: ids of a batch of sentences -> log probabilities, with the beliefs that made them."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_packed_sequence

from adasent.nn import (
    GatedComposition,
    LevelClassifier,
    LevelGate,
    LevelNorm,
    Noise,
    Projection,
    consensus,
)
from adasent.pyramid.weights import Pyramid
from adasent.systems.base import System, drop_words, exists
from adasent.systems.config import AdaSentConfig
from adasent.systems.gradient_flow import gradient_flow


class AdaSentOutput(NamedTuple):
    """What the network says of B sentences, padded to L words."""

    log_probs: Tensor  # (B, A) log p(C = c | x); A answers: see adasent.nn.levels
    log_beliefs: Tensor  # (B, L) log gamma_t; -inf above a sentence's top level
    level_log_probs: Tensor  # (B, L, A) log p(C = c | H_x = t)
    pyramid: Pyramid | None  # every unit and gate, where they were asked for


class AdaSent(System):
    """Embedding, projection, pyramid, level norm, level gate and classifier, composed."""

    config_type = AdaSentConfig
    host_lengths = True
    config: AdaSentConfig

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.projection = Projection(config.vector_size, size)
        self.composition = GatedComposition(
            size,
            activation=config.activation,
            pooling=config.pooling,
            gate_size=config.gate_size if config.local_gate == "mlp" else None,
            copy_bias=config.copy_bias,
            gate_groups=config.gate_groups,
            max_height=config.max_height,
        )
        self.level_norm = LevelNorm(size) if config.level_norm else None
        self.level_gate = LevelGate(size, config.gate_size if config.level_gate == "mlp" else None)
        self.classifier = LevelClassifier(
            size, config.classifier_size, config.n_classes, config.multilabel
        )

    def forward(self, ids: Tensor, lengths: Tensor, *, keep_units: bool = False) -> AdaSentOutput:
        """Classify a padded batch: (B, T) ids, (B,) lengths of at least 1, which may be on the CPU.

        ``keep_units`` keeps every unit and gate of the pyramids, for gradient flow and tests.
        """
        return self.classify(self.embedding(ids), lengths, keep_units=keep_units)

    def classify(
        self,
        vectors: Tensor,
        lengths: Tensor,
        noise: Noise | None = None,
        *,
        keep_units: bool = False,
    ) -> AdaSentOutput:
        """The same from word vectors (B, T, d) on: a contextual encoder may provide them."""
        words = self.projection(drop_words(vectors, noise))  # (B, T, D)
        pyramid = None
        if keep_units:
            pyramid = self.composition.trace(words, lengths)
            n_levels = min(words.shape[1], self.config.max_height or words.shape[1])
            levels, _ = pad_packed_sequence(pyramid.levels, batch_first=True, total_length=n_levels)
        else:
            levels = self.composition(words, lengths)  # (B, L, D)
        if self.level_norm is not None:
            levels = self.level_norm(levels)
        log_beliefs = self.level_gate(levels, exists(levels, lengths))  # (B, L)
        level_log_probs = self.classifier(levels, noise)  # (B, L, A)
        return AdaSentOutput(
            consensus(log_beliefs, level_log_probs), log_beliefs, level_log_probs, pyramid
        )

    def loss(self, output: AdaSentOutput, targets: Tensor) -> Tensor:
        """That of the consensus, and ``level_loss`` times the mean of what each level says."""
        loss = super().loss(output, targets)
        if self.config.level_loss:
            reached = output.log_beliefs > float("-inf")  # (B, L)
            said = targets[:, None] * output.level_log_probs  # (B, L, A)
            each = torch.where(targets[:, None] > 0, said, 0.0).sum(dim=2)
            mean = torch.where(reached, each, 0.0).sum(dim=1) / reached.sum(dim=1)
            loss = loss - self.config.level_loss * mean
        return loss

    def penalty(self) -> Tensor:
        """||W_L||_F^2 + ||W_R||_F^2."""
        composition = self.composition
        return composition.compose_left.square().sum() + composition.compose_right.square().sum()

    def diagnostics(self, ids: Tensor, lengths: Tensor, targets: Tensor) -> dict[str, Any]:
        """``gradient_flow``: does the error reach the words? Without dropout."""
        with torch.enable_grad():
            output = self.classify(self.embedding(ids).detach(), lengths, keep_units=True)
            assert output.pyramid is not None
            loss = -(targets * output.log_probs).sum()
            flow = gradient_flow(output.pyramid, loss, lengths)
        return {"gradient_flow": flow.to_dict()}
