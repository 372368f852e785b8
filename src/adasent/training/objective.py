"""What is minimised and what is measured, for one model; ``vmap`` makes it many."""

from __future__ import annotations

import torch
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
    """Sums over a batch without dropout, each text by its weight: losses, hits, what could be hit.

    With one label a text, the texts could be hit, and the last two make the accuracy. With several
    it is the labels that are there and those that are said to be, at a threshold of a half, and a
    label that is both is two hits: they make the micro F1. Last come the classes that were found,
    which mean something where a text has one.
    """

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(
        self, vectors: Tensor, lengths: Tensor, targets: Tensor, weights: Tensor, **trees: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Word vectors (B, T, d) -> three scalars, and (B,) numbers of classes."""
        log_probs = self.system.classify(vectors, lengths, None, **trees).log_probs
        found = log_probs.argmax(dim=1)
        if self.system.config.multilabel:
            said, there = (yes > no for yes, no in (_halves(log_probs), _halves(targets)))
            hits = 2 * (said & there).sum(dim=1)
            counted = said.sum(dim=1) + there.sum(dim=1)
        else:
            hits = found == targets.argmax(dim=1)
            counted = torch.ones_like(weights)
        losses = cross_entropy(log_probs, targets)
        return (losses * weights).sum(), (hits * weights).sum(), (counted * weights).sum(), found


def _halves(answers: Tensor) -> tuple[Tensor, Tensor]:
    """(B, 2 C) of the answers -> (B, C) of yes and of no."""
    yes, no = answers.chunk(2, dim=1)
    return yes, no
