"""Keyed dropout on the CPU: the definition of :mod:`adasent.nn.dropout`, compiled by numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from adasent.nn import dropout as reference

_compiled = numba.njit(error_model="numpy", cache=True, nogil=True)
_GOLDEN, _FIRST, _SECOND = (
    np.uint32(c) for c in (reference.GOLDEN, reference.FIRST, reference.SECOND)
)
_U15, _U16 = np.uint32(15), np.uint32(16)


def dropout(x: Tensor, key: Tensor, rate: Tensor, site: int) -> Tensor:
    """x (K, B, T, d), key and rate (K,)."""
    x = x.detach().contiguous()
    out = torch.empty_like(x)
    keys = key.numpy().view(np.uint64)
    _fill(x.numpy(), keys, rate.double().numpy(), np.uint32(site), out.numpy())
    return out


@_compiled
def _mix(h: Any) -> Any:
    h = np.uint32((h ^ (h >> _U16)) * _FIRST)
    h = np.uint32((h ^ (h >> _U15)) * _SECOND)
    return np.uint32(h ^ (h >> _U16))


@_compiled
def _fill(x: Any, keys: Any, rates: Any, site: Any, out: Any) -> None:
    n_models, n_rows, n_positions, n_features = x.shape
    zero = x.dtype.type(0)
    for k in range(n_models):
        high = np.uint32(keys[k] >> np.uint64(32))
        seed = _mix(np.uint32(keys[k]) ^ _mix(np.uint32(high + np.uint32(site * _GOLDEN))))
        threshold = np.uint32(rates[k] * 4294967296.0)
        scale = x.dtype.type(1.0 / (1.0 - rates[k]))
        for b in range(n_rows):
            of_row = _mix(np.uint32(seed + np.uint32(np.uint32(b) * _GOLDEN)))
            for t in range(n_positions):
                h = _mix(np.uint32(of_row + np.uint32(np.uint32(t) * _GOLDEN)))
                source, target = x[k, b, t], out[k, b, t]
                for d in range(n_features):
                    u = _mix(np.uint32(h + np.uint32(np.uint32(d) * _GOLDEN)))
                    target[d] = source[d] * scale if u >= threshold else zero
