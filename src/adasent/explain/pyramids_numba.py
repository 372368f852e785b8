# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""The twin of :func:`adasent.explain.pyramids.grow` as one compiled call; needs numba and scipy."""

from __future__ import annotations

import numpy as np

from adasent.pyramid.cells_forward import forward_strip, pool_strip
from adasent.pyramid.compiling import compiled


@compiled
def grow_batch(
    product, matrix, compose_bias, gate_bias, counts, units, levels, gates, relu, maximum
):  # fmt: skip
    """Fill all levels from the first, whose units are in place and multiplied with the matrix."""
    n_words = n_rows = len(levels)
    products = np.empty_like(product)
    first, row = 0, counts[0]
    pool_strip(units[:n_words], counts, levels[:row], maximum, 0, 1)
    for t in range(1, len(counts)):
        below = units[first : first + n_rows]
        if t > 1:
            product = products[:n_rows]
            np.dot(below, matrix, product)
        first += n_rows
        n_rows -= counts[t - 1]
        forward_strip(
            below, product, compose_bias, gate_bias, counts[t - 1 :],
            units[first : first + n_rows], levels[row : row + counts[t]], None,
            gates[first - n_words : first - n_words + n_rows], relu, maximum, 0, 1,
        )  # fmt: skip
        row += counts[t]
