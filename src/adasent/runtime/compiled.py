# mypy: disable-error-code="no-untyped-def"
"""The climb as one compiled call; needs numba, and scipy for the matrix products inside of it."""

from __future__ import annotations

from typing import Any

import scipy.linalg  # noqa: F401  numba finds its matrix product there, and fails late without it
from numba.extending import overload

from adasent.pyramid.compiled_forward import forward_strip, pool_strip
from adasent.pyramid.compiling import compiled
from adasent.runtime.climb import Passes, build_level, climb_levels, pool_level


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


NUMBA = Passes("numba", compiled(climb_levels))
