"""What is minimised and what is measured, for one model; ``vmap`` makes it many."""

from __future__ import annotations

from torch import Tensor, nn

from adasent.nn import Noise
from adasent.systems.base import Prediction, System, cross_entropy


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
        structure: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Word vectors (B, T, d) of a batch of which ``n_rows`` texts are real -> two scalars."""
        noise = Noise(key, vector_rate, hidden_rate)
        output = _classify(self.system, vectors, lengths, noise, structure)
        loss = (self.system.loss(output, targets) * weights).sum() / n_rows.clamp(min=1)
        return loss, loss + penalty * self.system.penalty()


class Score(nn.Module):
    """Weighted sums of the loss and of the hits of a batch, without dropout."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(
        self,
        vectors: Tensor,
        lengths: Tensor,
        targets: Tensor,
        weights: Tensor,
        structure: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Word vectors (B, T, d) -> two scalars."""
        log_probs = _classify(self.system, vectors, lengths, None, structure).log_probs
        hits = log_probs.argmax(dim=1) == targets.argmax(dim=1)
        return (cross_entropy(log_probs, targets) * weights).sum(), (hits * weights).sum()


def _classify(
    system: System,
    vectors: Tensor,
    lengths: Tensor,
    noise: Noise | None,
    structure: Tensor | None,
) -> Prediction:
    """Only a system that composes along trees is given them."""
    trees = {} if structure is None else {"structure": structure}
    return system.classify(vectors, lengths, noise, **trees)
