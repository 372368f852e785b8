# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""The passes of :mod:`adasent.explain.gradients` for where numba is at hand."""

from __future__ import annotations

import numpy as np

from adasent.explain.gradients import KINK
from adasent.pyramid.compiling import compiled
from adasent.runtime.levels import NORM_EPS

_HALF = np.float32(0.5)

# Row slices are taken so that inner loops index by one variable alone.


@compiled
def by_vote_numba(out, mean, shares, rectified, moves):
    """As :func:`adasent.explain.gradients.by_vote_numpy`."""
    n_kept, n, size = moves.shape
    zero, one = moves.dtype.type(0), moves.dtype.type(1)
    slope = np.ones(size, moves.dtype)
    for i in range(n):
        middle = mean[i]
        if rectified is not None:
            hidden = rectified[i]
            for h in range(size):
                slope[h] = min(max(hidden[h] / KINK + _HALF, zero), one)
        for k in range(n_kept):
            weights, share, move = out[k], shares[k, i], moves[k, i]
            for h in range(size):
                move[h] = share * slope[h] * (weights[h] - middle[h])


@compiled
def finish_numba(gradients, pulls, by_belief, levels):
    """As :func:`adasent.explain.gradients.finish_numpy`."""
    n_kept, n, size = gradients.shape
    zero, width = gradients.dtype.type(0), gradients.dtype.type(size)
    centred = np.empty(size, gradients.dtype)
    for i in range(n):
        slope = by_belief[min(i, len(by_belief) - 1)]
        squares = width * NORM_EPS
        if levels is not None:
            level, total = levels[i], zero
            for d in range(size):
                total += level[d]
            for d in range(size):
                centred[d] = level[d] - total / width
                squares += centred[d] * centred[d]
        scale = np.sqrt(width / squares)
        for k in range(n_kept):
            gradient, pull, along = gradients[k, i], pulls[k, i], zero
            if levels is None:
                for d in range(size):
                    gradient[d] += pull * slope[d]
            else:
                for d in range(size):
                    gradient[d] += pull * slope[d]
                    along += gradient[d] * centred[d]
                along /= squares
                for d in range(size):
                    gradient[d] = scale * (gradient[d] - along * centred[d])
