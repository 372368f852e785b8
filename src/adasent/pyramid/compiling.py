# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""How functions of arrays are compiled by numba, and the tanh and exp that they call.

In single precision these two are approximations that loops vectorise with.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, overload


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


# -- tanh and exp --------------------------------------------------------------------------------

_ONE, _LIMIT = np.float32(1), np.float32(9)
_P0, _P1, _P2, _P3, _P4 = (
    np.float32(c)
    for c in (0.9999999796, 0.1338098036, 0.003495533594, 2.060816926e-05, 1.33533916e-08)
)
_Q1, _Q2, _Q3, _Q4 = (
    np.float32(c) for c in (0.4671429602, 0.02587677651, 0.0003285544782, 7.776038358e-07)
)


@compiled
def _rational_tanh(x):
    """x P(x^2) / Q(x^2), fitted by us for the least relative error on |x| <= 9."""
    x = min(max(x, -_LIMIT), _LIMIT)
    u = x * x
    p = (((_P4 * u + _P3) * u + _P2) * u + _P1) * u + _P0
    q = (((_Q4 * u + _Q3) * u + _Q2) * u + _Q1) * u + _ONE
    return min(max(x * p / q, -_ONE), _ONE)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent; in single precision one that vectorises, with an error below 5e-7."""
    raise NotImplementedError


@overload(tanh, strict=False)
def _tanh(x: Any) -> Any:
    if x == types.float32:
        return lambda x: _rational_tanh(x)
    return lambda x: math.tanh(x)


_LOG2E, _HALF, _MAX_EXPONENT = np.float32(1.4426950408889634), np.float32(0.5), np.float32(115)
_E0, _E1, _E2, _E3, _E4, _E5, _E6 = (
    np.float32(c)
    for c in (
        1.000000001,
        0.6931472057,
        0.2402264689,
        0.05550328775,
        0.009618488978,
        0.001339993194,
        0.000153458082,
    )
)
_LARGEST = 700.0


@intrinsic
def _float_of_bits(typing_context, bits):
    """The float32 that an int32 is the bits of."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), generate


@compiled
def _polynomial_exp(x):
    """2^k times a polynomial fitted by us to 2^u, |u| <= 1/2."""
    y = min(max(x * _LOG2E, -_MAX_EXPONENT), _MAX_EXPONENT)
    k = np.floor(y + _HALF)
    u = y - k
    p = ((((_E6 * u + _E5) * u + _E4) * u + _E3) * u + _E2) * u + _E1
    bits = (np.int32(k) + np.int32(127)) << np.int32(23)
    return (p * u + _E0) * _float_of_bits(bits)  # type: ignore[call-arg]


def exp(x: Any) -> Any:
    """Exponential that stays finite, and above 0; in single precision one that vectorises."""
    raise NotImplementedError


@overload(exp, strict=False)
def _exp(x: Any) -> Any:
    if x == types.float32:
        return lambda x: _polynomial_exp(x)
    return lambda x: math.exp(min(max(x, -_LARGEST), _LARGEST))
