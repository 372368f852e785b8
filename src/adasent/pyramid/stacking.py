"""How an operation meets several models at once where it has no kernel for that: one by one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def one_by_one(
    function: type[torch.autograd.Function],
    n_models: int,
    in_dims: tuple[int | None, ...],
    inputs: tuple[Any, ...],
    fresh: dict[int, type],
) -> tuple[Tensor, int]:
    """A rule for ``vmap`` that runs one model after the other.

    Parameters
    ----------
    fresh
        Positions of arguments that every call needs its own of, and how to make it.
    """
    models = []
    for k in range(n_models):
        own = [
            fresh[i]() if i in fresh else x if dim is None else x.select(dim, k)
            for i, (x, dim) in enumerate(zip(inputs, in_dims, strict=True))
        ]
        models.append(function.apply(*own))  # type: ignore[no-untyped-call]
    return torch.stack(models), 0
