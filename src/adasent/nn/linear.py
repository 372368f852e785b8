"""A linear layer over any leading axes as one matrix product, also under vmap."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


def apply_linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """(..., n) -> (..., m).

    The leading axes are made one first: where vmap brings a weight for each model, torch would
    otherwise repeat it for each sentence and multiply sentence by sentence.
    """
    rows = x.reshape(-1, x.shape[-1])
    return F.linear(rows, layer.weight, layer.bias).reshape(*x.shape[:-1], layer.out_features)
