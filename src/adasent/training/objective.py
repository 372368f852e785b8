"""What is minimised and what is measured, for one model; ``vmap`` makes it many."""

from __future__ import annotations

from torch import Tensor, nn

from adasent.nn import Noise
from adasent.systems.base import System, cross_entropy


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
        **trees: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Word vectors (B, T, d) of a batch of which ``n_rows`` texts are real -> two scalars.

        ``trees`` is empty but for a system that composes along them.
        """
        noise = Noise(key, vector_rate, hidden_rate)
        output = self.system.classify(vectors, lengths, noise, **trees)
        loss = (self.system.loss(output, targets) * weights).sum() / n_rows.clamp(min=1)
        return loss, loss + penalty * self.system.penalty()


class Score(nn.Module):
    """Weighted sums of the loss and of the hits of a batch, without dropout."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(
        self, vectors: Tensor, lengths: Tensor, targets: Tensor, weights: Tensor, **trees: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Word vectors (B, T, d) -> two scalars."""
        log_probs = self.system.classify(vectors, lengths, None, **trees).log_probs
        hits = log_probs.argmax(dim=1) == targets.argmax(dim=1)
        return (cross_entropy(log_probs, targets) * weights).sum(), (hits * weights).sum()
