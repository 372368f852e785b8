# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""The twin of :mod:`adasent.explain.ends` for where numba is at hand."""

from __future__ import annotations

import numpy as np

from adasent.explain.ends import empty_shorter
from adasent.explain.places import Places
from adasent.explain.pyramids import Pyramids
from adasent.pyramid.compiling import compiled
from adasent.runtime.arrays import Floats


@compiled
def _texts(units, maximum, lengths, starts, level_rows, without_first, without_last):
    """Row slices are taken so that inner loops index by d alone."""
    size = units.shape[1]
    one = units.dtype.type(1)
    middle = np.empty(size, units.dtype)
    done = 0
    for b in range(len(lengths)):
        for t in range(lengths[b] - 1):
            n = lengths[b] - t
            row = level_rows[t] - starts[t] + b  # and so many more as the last word's position has
            middle[:] = -np.inf if maximum is not None else 0
            for j in range(1, n - 1):
                h = units[row + starts[t + j]]
                if maximum is not None:
                    for d in range(size):
                        middle[d] = max(middle[d], h[d])
                else:
                    for d in range(size):
                        middle[d] += h[d]
            first, last = units[row + starts[t]], units[row + starts[t + n - 1]]
            no_first, no_last = without_first[done], without_last[done]
            if maximum is not None:
                for d in range(size):
                    no_first[d], no_last[d] = max(middle[d], last[d]), max(middle[d], first[d])
            else:
                scale = one / units.dtype.type(n - 1)
                for d in range(size):
                    no_first[d] = (middle[d] + last[d]) * scale
                    no_last[d] = (middle[d] + first[d]) * scale
            done += 1


def shorter_numba(pyramids: Pyramids, places: Places, *, maximum: bool) -> Floats:
    """As :func:`adasent.explain.ends.shorter_numpy`."""
    found = empty_shorter(pyramids, places)
    _texts(
        pyramids.units,
        maximum or None,  # a branch on None is decided when compiling
        places.lengths,
        places.starts,
        places.levels,
        *found,
    )
    return found
