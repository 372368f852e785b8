"""What is minimised and what is measured, for one model; ``vmap`` makes it many."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from adasent.nn import Noise
from adasent.systems.base import System


def cross_entropy(log_probs: Tensor, targets: Tensor) -> Tensor:
    """(B,) negative log-likelihood of target distributions (B, C)."""
    # A class of probability 0 adds nothing, also where its log probability is -inf.
    return -torch.where(targets > 0, targets * log_probs, 0.0).sum(dim=1)


class Objective(nn.Module):
    """Mean loss of a batch, and that plus the penalty."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(
        self,
        vectors: Tensor,
        lengths: Tensor,
        targets: Tensor,
        weights: Tensor,
        n_rows: Tensor,
        penalty: Tensor,
        key: Tensor,
        vector_rate: Tensor | None = None,
        hidden_rate: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Word vectors (B, T, d) of a batch of which ``n_rows`` texts are real -> two scalars."""
        noise = Noise(key, vector_rate, hidden_rate)
        log_probs = self.system.classify(vectors, lengths, noise).log_probs
        loss = (cross_entropy(log_probs, targets) * weights).sum() / n_rows.clamp(min=1)
        return loss, loss + penalty * self.system.penalty()


class Score(nn.Module):
    """Weighted sums of the loss and of the hits of a batch, without dropout."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(
        self, vectors: Tensor, lengths: Tensor, targets: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Word vectors (B, T, d) -> two scalars."""
        log_probs = self.system.classify(vectors, lengths).log_probs
        hits = log_probs.argmax(dim=1) == targets.argmax(dim=1)
        return (cross_entropy(log_probs, targets) * weights).sum(), (hits * weights).sum()
