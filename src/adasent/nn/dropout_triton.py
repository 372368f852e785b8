# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
"""Keyed dropout on CUDA: the definition of :mod:`adasent.nn.dropout` as one Triton kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from adasent.nn import dropout as reference

_GOLDEN = tl.constexpr(reference.GOLDEN)
_FIRST = tl.constexpr(reference.FIRST)
_SECOND = tl.constexpr(reference.SECOND)
_ROWS = 16  # (row, position) pairs of one program


def dropout(x: Tensor, key: Tensor, rate: Tensor, site: int) -> Tensor:
    """x (K, B, T, d), key and rate (K,)."""
    x = x.contiguous()
    out = torch.empty_like(x)
    n_models, n_rows, n_positions, n_features = x.shape
    grid = (triton.cdiv(n_rows * n_positions, _ROWS), n_models)
    _fill[grid](
        x, key, rate, out, site, n_rows * n_positions, n_positions,
        n_features, ROWS=_ROWS, FEATURES=triton.next_power_of_2(n_features),
    )  # fmt: skip
    return out


@triton.jit
def _mix(h):
    h = (h ^ (h >> 16)) * _FIRST
    h = (h ^ (h >> 15)) * _SECOND
    return h ^ (h >> 16)


@triton.jit
def _fill(
    x, key, rate, out, site, n_places, n_positions, n_features,
    ROWS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1)
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    feature = tl.arange(0, FEATURES)
    # A block of equal keys: in the interpreter, numpy warns where a scalar overflows.
    keys = tl.load(key + model + 0 * place)
    sites = (0 * place + site).to(tl.uint32)
    h = _mix(keys.to(tl.uint32) ^ _mix((keys >> 32).to(tl.uint32) + sites * _GOLDEN))
    h = _mix(h + (place // n_positions).to(tl.uint32) * _GOLDEN)
    h = _mix(h + (place % n_positions).to(tl.uint32) * _GOLDEN)
    h = _mix(h[:, None] + feature.to(tl.uint32)[None, :] * _GOLDEN)
    dropped = tl.load(rate + model).to(tl.float64)
    threshold = (dropped * 4294967296.0).to(tl.int64)
    inside = (place < n_places)[:, None] & (feature < n_features)[None, :]
    at = (model.to(tl.int64) * n_places + place)[:, None] * n_features + feature[None, :]
    values = tl.load(x + at, mask=inside)
    scale = (1.0 / (1.0 - dropped)).to(values.dtype)
    values = tl.where(h.to(tl.int64) >= threshold, values * scale, 0.0)
    tl.store(out + at, values, mask=inside)
