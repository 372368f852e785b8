"""g: the classifier that all levels share; pooled level -> log probabilities of the classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LevelClassifier(nn.Module):
    """An MLP with one hidden layer, or a linear map when ``classifier_size`` is 0."""

    def __init__(self, hidden_size: int, classifier_size: int, n_classes: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.0)
        if classifier_size:
            self.hidden: nn.Linear | None = nn.Linear(hidden_size, classifier_size)
            self.out = nn.Linear(classifier_size, n_classes)
        else:
            self.hidden = None
            self.out = nn.Linear(hidden_size, n_classes)

    def forward(self, levels: Tensor) -> Tensor:
        """(..., D) -> (..., C) log probabilities."""
        features = levels
        if self.hidden is not None:
            features = torch.relu(self.hidden(self.dropout(features)))
        return torch.log_softmax(self.out(self.dropout(features)), dim=-1)
