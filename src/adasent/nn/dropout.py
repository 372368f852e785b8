"""Dropout whose mask follows from a key and the place of an element: (row, position, feature).

It reads no generator and no padded size, so what a sentence loses depends neither on its neighbours
nor on how far its batch is padded, and backward makes the mask again instead of keeping it. The
masks of the three implementations (torch, numba on the CPU, Triton on CUDA) are equal bit for bit.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

#: Constants of the hash: the golden ratio of 2^32, and two odd multipliers that mix well.
GOLDEN, FIRST, SECOND = 0x9E3779B9, 0x7FEB352D, 0x846CA68B
_LOW = 0xFFFFFFFF

#: Sites: each place that drops something has a number of its own, so that their masks differ.
WORDS, VECTORS, LEVELS, HIDDEN = range(4)


class Noise(NamedTuple):
    """The randomness of one training step of one model, as scalar tensors."""

    key: Tensor  # int64; decides every mask of the step
    vector_rate: Tensor | None = None  # float64, dropout on word vectors; None: no dropout
    hidden_rate: Tensor | None = None  # likewise before each layer of the classifier


def keyed_dropout(x: Tensor, key: Tensor, rate: Tensor | None, site: int) -> Tensor:
    """Zero a share ``rate`` of the elements of x (B, T, d), scale the others by 1 / (1 - rate).

    Key and rate are those of a :class:`Noise`; under vmap, they and ``x`` may have a model axis
    each. A rate of None returns ``x`` itself.
    """
    if rate is None:
        return x
    dropped: Tensor = _KeyedDropout.apply(x, key, rate, site)  # type: ignore[no-untyped-call]
    return dropped


def keyed_choice(shape: torch.Size, key: Tensor, rate: Tensor, site: int) -> Tensor:
    """(K, B, T) True for a share of the places; key and rate are (K,), one of each model."""
    ones = key.new_ones((*shape, 1), dtype=torch.float32)
    return _dropout(ones, key, rate, site).squeeze(-1) == 0


class _KeyedDropout(torch.autograd.Function):
    """Over any leading model axis: x (..., B, T, d), key and rate (...)."""

    @staticmethod
    def forward(x: Tensor, key: Tensor, rate: Tensor, site: int) -> Tensor:
        return _dropout(x, key, rate, site)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, key, rate, ctx.site = inputs
        ctx.save_for_backward(key, rate)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        key, rate = ctx.saved_tensors
        return keyed_dropout(gradients[0], key, rate, ctx.site), None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, key: Tensor, rate: Tensor, site: int
    ) -> tuple[Tensor, int]:
        x, key, rate = (
            value.movedim(dim, 0)
            if dim is not None
            else value.expand(info.batch_size, *value.shape)
            for value, dim in zip((x, key, rate), in_dims, strict=False)
        )
        return keyed_dropout(x, key, rate, site), 0


def _dropout(x: Tensor, key: Tensor, rate: Tensor, site: int) -> Tensor:
    fast = _fast_module(x.device.type)
    if fast is None:
        return dropout_reference(x, key, rate, site)
    stacked = x.reshape(-1, *x.shape[-3:])
    dropped: Tensor = fast.dropout(stacked, key.reshape(-1), rate.reshape(-1), site)
    return dropped.view(x.shape)


@cache
def _fast_module(device: str) -> ModuleType | None:
    """The compiled twin for a device, or None where its compiler is not installed."""
    name = {"cpu": "dropout_numba", "cuda": "dropout_triton"}.get(device)
    if name is None:
        return None
    try:
        return importlib.import_module(f"adasent.nn.{name}")
    except ImportError:
        return None


def dropout_reference(x: Tensor, key: Tensor, rate: Tensor, site: int) -> Tensor:
    """The definition, in torch: x (..., B, T, d), key and rate (...)."""
    # 32-bit unsigned arithmetic in int64, cut to 32 bits after each product.
    n_rows, n_positions, n_features = x.shape[-3:]
    h = _mix((key & _LOW) ^ _mix(((key >> 32) + site * GOLDEN) & _LOW))
    for n in (n_rows, n_positions, n_features):
        steps = torch.arange(n, device=x.device) * GOLDEN
        h = _mix((h.unsqueeze(-1) + steps) & _LOW)
    threshold = (rate.double() * 2**32).long()
    scale = (1 / (1 - rate.double())).to(x.dtype)
    keep = h >= threshold[..., None, None, None]
    return torch.where(keep, x * scale[..., None, None, None], 0)


def _mix(h: Tensor) -> Tensor:
    """A bijection of 32-bit numbers in which every input bit sways every output bit."""
    h = ((h ^ (h >> 16)) * FIRST) & _LOW
    h = ((h ^ (h >> 15)) * SECOND) & _LOW
    return h ^ (h >> 16)
