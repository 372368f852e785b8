"""The mixture p(c) = sum over levels of belief x level prediction, in log space."""

from __future__ import annotations

import torch
from torch import Tensor


def consensus(log_beliefs: Tensor, level_log_probs: Tensor) -> Tensor:
    """Mix the levels' predictions.

    Parameters
    ----------
    log_beliefs
        (B, L), minus infinity for levels a sentence does not have.
    level_log_probs
        (B, L, C).

    Returns
    -------
    (B, C) log probabilities.
    """
    return torch.logsumexp(log_beliefs.unsqueeze(-1) + level_log_probs, dim=1)
