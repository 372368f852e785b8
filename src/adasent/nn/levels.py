"""What the levels of a pyramid say: beliefs in them, the classifier they share, their mixture."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from adasent.nn.dropout import HIDDEN, LEVELS, Noise, keyed_dropout
from adasent.nn.embedding import apply_linear


class LevelGate(nn.Module):
    """w: scores every level; the beliefs gamma are the softmax of the scores over the levels.

    ``gate_size`` counts hidden units; None makes a linear score, as in the paper.
    """

    def __init__(self, hidden_size: int, gate_size: int | None) -> None:
        super().__init__()
        if gate_size is None:
            self.score: nn.Module = nn.Linear(hidden_size, 1)
        else:
            self.score = nn.Sequential(
                nn.Linear(hidden_size, gate_size), nn.Tanh(), nn.Linear(gate_size, 1)
            )

    def forward(self, levels: Tensor, exists: Tensor) -> Tensor:
        """Log beliefs (B, L) in pooled levels (B, L, D); -inf for those that do not exist."""
        # One matrix product over all levels of all sentences, also under vmap.
        scores = self.score(levels.flatten(0, 1)).view(exists.shape)
        return torch.log_softmax(scores.masked_fill(~exists, float("-inf")), dim=1)


class LevelClassifier(nn.Module):
    """g: an MLP with one hidden layer, or a linear map when ``classifier_size`` is 0."""

    def __init__(self, hidden_size: int, classifier_size: int, n_classes: int) -> None:
        super().__init__()
        if classifier_size:
            self.hidden: nn.Linear | None = nn.Linear(hidden_size, classifier_size)
            self.out = nn.Linear(classifier_size, n_classes)
        else:
            self.hidden = None
            self.out = nn.Linear(hidden_size, n_classes)

    def forward(self, levels: Tensor, noise: Noise | None = None) -> Tensor:
        """Log probabilities (..., C) of levels (..., D); with noise, levels must be (B, L, D)."""
        features = _drop(levels, noise, LEVELS)
        if self.hidden is not None:
            features = torch.relu(apply_linear(self.hidden, features))
            features = _drop(features, noise, HIDDEN)
        return torch.log_softmax(apply_linear(self.out, features), dim=-1)


def _drop(features: Tensor, noise: Noise | None, site: int) -> Tensor:
    if noise is None:
        return features
    return keyed_dropout(features, noise.key, noise.hidden_rate, site)


def consensus(log_beliefs: Tensor, level_log_probs: Tensor) -> Tensor:
    """The mixture p(c), the sum over levels of belief x level prediction, in log space.

    Log beliefs (B, L), minus infinity for levels a sentence does not have, and log probabilities
    (B, L, C) give (B, C).
    """
    return torch.logsumexp(log_beliefs.unsqueeze(-1) + level_log_probs, dim=1)
