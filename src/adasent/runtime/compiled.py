# mypy: disable-error-code="no-untyped-def"
"""The climb as one compiled call, and the norm of levels.

Needs numba, and scipy for the matrix products inside of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  numba finds its matrix product there, and fails late without it
from numba.extending import overload

from adasent.pyramid.compiled_forward import forward_strip, pool_strip
from adasent.pyramid.compiling import compiled
from adasent.runtime.climb import Passes, build_level, climb_levels, pool_level
from adasent.runtime.head import NORM_EPS


@overload(build_level, strict=False)
def _build_level(
    below, product, compose_bias, gate_bias, gate_out, gate_out_bias, counts, above, pooled, gates,
    relu, maximum, grouped,
):  # fmt: skip
    """Where compiled code builds a level, training's pass does; it has no MLP gate."""

    def build(
        below, product, compose_bias, gate_bias, gate_out, gate_out_bias, counts, above, pooled,
        gates, relu, maximum, grouped,
    ):  # fmt: skip
        forward_strip(
            below, product, compose_bias, gate_bias, counts, above, pooled, None, gates,
            relu, maximum, grouped, 0, 1,
        )  # fmt: skip

    return build


@overload(pool_level, strict=False)
def _pool_level(level: Any, counts: Any, pooled: Any, maximum: Any) -> Any:
    return lambda level, counts, pooled, maximum: pool_strip(level, counts, pooled, maximum, 0, 1)


@compiled
def _norm_rows(levels, gain, offset):
    """As :func:`adasent.runtime.head.norm_rows`, a row at a time."""
    found = np.empty_like(levels)
    n_rows, size = levels.shape
    for i in range(n_rows):
        total = square = levels.dtype.type(0)
        for d in range(size):
            total += levels[i, d]
        mean = total / levels.dtype.type(size)
        for d in range(size):
            square += (levels[i, d] - mean) ** 2
        scale = levels.dtype.type(1) / np.sqrt(square / levels.dtype.type(size) + NORM_EPS)
        for d in range(size):
            found[i, d] = (levels[i, d] - mean) * scale * gain[d] + offset[d]
    return found


NUMBA = Passes("numba", compiled(climb_levels), _norm_rows, by_column=True)
