"""w: scores every level of the hierarchy; beliefs gamma are their softmax over the levels."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LevelGate(nn.Module):
    """Belief in each level.

    Parameters
    ----------
    gate_size
        Hidden units; None for a linear score, as in the paper.
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
        """Log beliefs (B, L); minus infinity where a sentence has no such level.

        Parameters
        ----------
        levels
            (B, L, D) pooled levels.
        exists
            (B, L) True for the levels a sentence has.
        """
        # One matrix product over all levels of all sentences, also under vmap.
        scores = self.score(levels.flatten(0, 1)).view(exists.shape)
        return torch.log_softmax(scores.masked_fill(~exists, float("-inf")), dim=1)
