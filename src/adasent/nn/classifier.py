"""g: the classifier that all levels share; pooled level -> log probabilities of the classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from adasent.nn.dropout import HIDDEN, LEVELS, Noise, keyed_dropout
from adasent.nn.linear import apply_linear


class LevelClassifier(nn.Module):
    """An MLP with one hidden layer, or a linear map when ``classifier_size`` is 0."""

    def __init__(self, hidden_size: int, classifier_size: int, n_classes: int) -> None:
        super().__init__()
        if classifier_size:
            self.hidden: nn.Linear | None = nn.Linear(hidden_size, classifier_size)
            self.out = nn.Linear(classifier_size, n_classes)
        else:
            self.hidden = None
            self.out = nn.Linear(hidden_size, n_classes)

    def forward(self, levels: Tensor, noise: Noise | None = None) -> Tensor:
        """(..., D) -> (..., C) log probabilities; with noise, levels must be (B, L, D)."""
        features = _drop(levels, noise, LEVELS)
        if self.hidden is not None:
            features = torch.relu(apply_linear(self.hidden, features))
            features = _drop(features, noise, HIDDEN)
        return torch.log_softmax(apply_linear(self.out, features), dim=-1)


def _drop(features: Tensor, noise: Noise | None, site: int) -> Tensor:
    return (
        features if noise is None else keyed_dropout(features, noise.key, noise.hidden_rate, site)
    )
