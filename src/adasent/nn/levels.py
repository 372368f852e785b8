"""What the levels of a pyramid say: beliefs in them, the classifier they share, their mixture.

What is said of C classes is log probabilities of *answers*. Where a text has one class, the answers
are the classes. Where it may have several, there are 2 C: yes to each class, then no to each. Both
are kept because neither can be had from the other in float32 when it is near 1. A mixture of
levels, and a cross-entropy with targets over the answers, are the same sums in both cases.
"""

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
        return torch.log_softmax(torch.where(exists, scores, float("-inf")), dim=1)


class LevelClassifier(nn.Module):
    """g: an MLP with one hidden layer, or a linear map when ``classifier_size`` is 0.

    ``multilabel`` says that a text may have several of the classes; there are then A = 2 C answers.
    """

    def __init__(
        self, hidden_size: int, classifier_size: int, n_classes: int, multilabel: bool = False
    ) -> None:
        super().__init__()
        self.multilabel = multilabel
        if classifier_size:
            self.hidden: nn.Linear | None = nn.Linear(hidden_size, classifier_size)
            self.out = nn.Linear(classifier_size, n_classes)
        else:
            self.hidden = None
            self.out = nn.Linear(hidden_size, n_classes)

    @torch.no_grad()
    def start_at(self, shares: Tensor) -> None:
        """Say of a text of which nothing is known that it has each class with its share (C,).

        Of many classes that a text rarely has, to learn just that would take epochs.
        """
        self.out.bias.copy_(torch.logit(shares, eps=1e-4))

    def forward(self, levels: Tensor, noise: Noise | None = None) -> Tensor:
        """Log probabilities (..., A) of levels (..., D); with noise, levels must be (B, L, D)."""
        features = _drop(levels, noise, LEVELS)
        if self.hidden is not None:
            features = torch.relu(apply_linear(self.hidden, features))
            features = _drop(features, noise, HIDDEN)
        return log_answers(apply_linear(self.out, features), self.multilabel)


def log_answers(scores: Tensor, multilabel: bool) -> Tensor:
    """Log probabilities (..., A) of the answers, from scores (..., C) of the classes."""
    if multilabel:
        return torch.cat([nn.functional.logsigmoid(s) for s in (scores, -scores)], dim=-1)
    return torch.log_softmax(scores, dim=-1)


def _drop(features: Tensor, noise: Noise | None, site: int) -> Tensor:
    if noise is None:
        return features
    return keyed_dropout(features, noise.key, noise.hidden_rate, site)


def consensus(log_beliefs: Tensor, level_log_probs: Tensor) -> Tensor:
    """The mixture, for each answer the sum over levels of belief x level prediction, in log space.

    Log beliefs (B, L), minus infinity for levels a sentence does not have, and log probabilities
    (B, L, A) give (B, A).
    """
    return torch.logsumexp(log_beliefs.unsqueeze(-1) + level_log_probs, dim=1)
