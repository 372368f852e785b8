"""A running mean of the weights: smoother than the last update, and usually better."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel


def average_weights(model: nn.Module, decay: float) -> AveragedModel:
    """A copy of the model that ``update_parameters(model)`` moves towards the model.

    The decay rises to ``decay`` over the first updates, so that the start is forgotten early.
    With a decay of 0 the copy equals the model after every update.
    """

    @torch.no_grad()
    def update(
        averaged: tuple[Tensor, ...] | list[Tensor],
        current: tuple[Tensor, ...] | list[Tensor],
        n_updates: Tensor | int,
    ) -> None:
        n = int(n_updates)
        rate = 1.0 - min(decay, (1.0 + n) / (10.0 + n)) if decay else 1.0
        for mean, weight in zip(averaged, current, strict=True):
            mean.lerp_(weight, rate)

    options: dict[str, Any] = {"multi_avg_fn": update}
    return AveragedModel(model, **options)
