"""How functions of arrays are compiled by numba."""

from __future__ import annotations

from typing import Any

import numba


def compiled(function: Any) -> Any:
    """Compile for speed, to be called from Python or from other compiled functions.

    Sums may be reordered and products contracted; infinities and NaN keep their meaning. Division
    by zero gives what numpy gives: a check for it would keep loops from being vectorised.
    """
    fast = {"reassoc", "contract", "arcp", "nsz"}
    return _keep(function, fastmath=fast, error_model="numpy", nogil=True)


def inlined(function: Any) -> Any:
    """Write into each compiled function that calls it: for what is too short to be called."""
    return numba.njit(inline="always")(function)


def threaded(function: Any) -> Any:
    """Compile so that the rounds of a ``numba.prange`` run on all threads."""
    return _keep(function, parallel=True)


def _keep(function: Any, **options: Any) -> Any:
    """Compile and keep the result on disk, where there is a place for it.

    numba compiles anew when the file of the function has changed, not when that of a function it
    calls has: after an edit of the latter, touch the former.
    """
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written to
        return numba.njit(**options)(function)
