# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""Sixteen numbers that compiled code works on at a time, and their tanh and exp.

A loop that numba's compiler vectorises by itself does its last numbers one by one: of 100 four, of
25 nine. Lanes are loaded and stored in part where a row ends. Bounds are not checked. Numbers are
reached from pointers: where an array is handed on, numba may count its users, which takes longer
than to work on a few lanes.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, overload, register_model

WIDTH = 16

#: What :func:`adasent.pyramid.compiling.compiled` allows loops of plain numbers.
_FAST = ("reassoc", "contract", "arcp", "nsz")


#: A function written as code for LLVM; callers leave the first argument out.
emitted: Any = intrinsic


class Lanes(types.Type):
    """WIDTH numbers of a type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        number = dmm.lookup(fe_type.dtype).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(number, WIDTH))


# -- To and from arrays ----------------------------------------------------------------------------


@emitted
def at(typing_context, where, place):
    """The place of a number, counted from another place or from the first number of an array.

    The array, of whatever shape, is one row here. It must live on, so use it after the place of any
    of its numbers. None has None for a place.
    """
    if isinstance(where, types.NoneType):
        return types.none(where, types.intp), lambda context, *_: context.get_dummy_value()

    if isinstance(where, types.Array) and where.layout != "C":
        raise TypingError("expected an array whose numbers follow each other")

    def generate(context, builder, signature, arguments):
        first = arguments[0]
        if isinstance(where, types.Array):
            first = context.make_array(where)(context, builder, first).data
        return builder.gep(first, [arguments[1]])

    return types.CPointer(where.dtype)(where, types.intp), generate


@emitted
def load(typing_context, where, place, n):
    """The numbers from a place on; the first n of them, 0 after; None: all."""
    lanes = Lanes(where.dtype)

    def generate(context, builder, signature, arguments):
        vector = context.get_value_type(lanes)
        first = _as_lanes(builder, arguments, vector)
        if signature.args[2] == types.none:
            return builder.load(first, align=_size(vector))
        parts = (first, _INT(_size(vector)), _mask(builder, arguments[2]), vector(None))
        return _call(builder, "masked.load", vector, parts, vector)

    return lanes(where, types.intp, n), generate


@emitted
def number(typing_context, where, place):
    """The one number at a place."""

    def generate(context, builder, signature, arguments):
        return builder.load(builder.gep(arguments[0], [arguments[1]]))

    return where.dtype(where, types.intp), generate


@emitted
def store(typing_context, where, place, n, values):
    """Put lanes where the numbers from a place on are; the first n of them, None: all."""

    def generate(context, builder, signature, arguments):
        lanes = arguments[3]
        first = _as_lanes(builder, arguments, lanes.type)
        if signature.args[2] == types.none:
            builder.store(lanes, first, align=_size(lanes.type))
        else:
            parts = (lanes, first, _INT(_size(lanes.type)), _mask(builder, arguments[2]))
            _call(builder, "masked.store", ir.VoidType(), parts, lanes.type)
        return context.get_dummy_value()

    return types.void(where, types.intp, n, values), generate


_INT = ir.IntType(32)


def _size(vector: Any) -> int:
    """Bytes of one number: rows of arrays lie no more orderly than that."""
    return 8 if isinstance(vector.element, ir.DoubleType) else 4


def _as_lanes(builder, arguments, vector):
    """Pointer to lanes, from a pointer to a number and how many further on they begin."""
    return builder.bitcast(builder.gep(arguments[0], [arguments[1]]), vector.as_pointer())


def _mask(builder, n):
    """Whether each lane is among the first n."""
    n = builder.trunc(n, _INT)
    every = ir.Constant(ir.VectorType(_INT, WIDTH), list(range(WIDTH)))
    return builder.icmp_signed("<", every, _splat(builder, n))


def _call(builder, what, result, arguments, vector):
    """A function of LLVM's own for such lanes."""
    name = f"llvm.{what}.v{WIDTH}f{8 * _size(vector)}"
    if what.startswith("masked"):
        name += ".p0"
    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    known = builder.module.globals.get(name)
    return builder.call(known or ir.Function(builder.module, function_type, name), arguments)


# -- Arithmetic ------------------------------------------------------------------------------------


@emitted
def splat(typing_context, number):
    """The same number in all lanes."""

    def generate(context, builder, signature, arguments):
        return _splat(builder, arguments[0])

    return Lanes(number)(number), generate


def _splat(builder, number):
    vector = ir.VectorType(number.type, WIDTH)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, _INT(0))
    same = ir.Constant(ir.VectorType(_INT, WIDTH), None)
    return builder.shuffle_vector(one, one, same)


def _on_lanes(make: Any) -> Any:
    """Code for two lanes a and b of a type, as a function of both."""

    @emitted
    def operation(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            return make(builder, *arguments)

        return a(a, b), generate

    return operation


_ARITHMETIC = {
    operator.add: _on_lanes(lambda builder, a, b: builder.fadd(a, b, flags=_FAST)),
    operator.sub: _on_lanes(lambda builder, a, b: builder.fsub(a, b, flags=_FAST)),
    operator.mul: _on_lanes(lambda builder, a, b: builder.fmul(a, b, flags=_FAST)),
    operator.truediv: _on_lanes(lambda builder, a, b: builder.fdiv(a, b, flags=_FAST)),
    # What is not a number is kept where it comes second.
    min: _on_lanes(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b)),
    max: _on_lanes(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b)),
}


def _extend(function: Any, operation: Any) -> None:
    """Let a function that Python has take lanes, or lanes and a number."""

    @overload(function)
    def on_lanes(a, b):
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: operation(a, b)
        if isinstance(a, Lanes) and b == a.dtype:
            return lambda a, b: operation(a, splat(b))
        if isinstance(b, Lanes) and a == b.dtype:
            return lambda a, b: operation(splat(a), b)
        return None


for _function, _operation in _ARITHMETIC.items():
    _extend(_function, _operation)


@emitted
def _floor(typing_context, a):
    def generate(context, builder, signature, arguments):
        vector = arguments[0].type
        return _call(builder, "floor", vector, arguments, vector)

    return a(a), generate


@emitted
def _power_of_two(typing_context, k):
    """2^k for whole numbers k in single precision, by the bits of its exponent."""

    def generate(context, builder, signature, arguments):
        ints = ir.VectorType(_INT, WIDTH)
        exponent = builder.add(builder.fptosi(arguments[0], ints), _splat(builder, _INT(127)))
        return builder.bitcast(builder.shl(exponent, _splat(builder, _INT(23))), arguments[0].type)

    return k(k), generate


# -- tanh and exp: in single precision approximations, else those of the library -------------------

_ONE, _LIMIT = np.float32(1), np.float32(9)
_P0, _P1, _P2, _P3, _P4 = (
    np.float32(c)
    for c in (0.9999999796, 0.1338098036, 0.003495533594, 2.060816926e-05, 1.33533916e-08)
)
_Q1, _Q2, _Q3, _Q4 = (
    np.float32(c) for c in (0.4671429602, 0.02587677651, 0.0003285544782, 7.776038358e-07)
)


def _rational_tanh(x):
    """x P(x^2) / Q(x^2), fitted by us for the least relative error on |x| <= 9."""
    x = min(_LIMIT, max(-_LIMIT, x))
    u = x * x
    p = (((_P4 * u + _P3) * u + _P2) * u + _P1) * u + _P0
    q = (((_Q4 * u + _Q3) * u + _Q2) * u + _Q1) * u + _ONE
    return min(_ONE, max(-_ONE, x * p / q))


def tanh(x: Any) -> Any:
    """Hyperbolic tangent of lanes, with an error below 5e-7 in single precision."""
    raise NotImplementedError


@overload(tanh, strict=False)
def _tanh(x: Any) -> Any:
    return _rational_tanh if x.dtype == types.float32 else _one_by_one(math.tanh)


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


def _polynomial_exp(x):
    """2^k times a polynomial fitted by us to 2^u, |u| <= 1/2."""
    y = min(_MAX_EXPONENT, max(-_MAX_EXPONENT, x * _LOG2E))
    k = _floor(y + _HALF)
    u = y - k
    p = ((((_E6 * u + _E5) * u + _E4) * u + _E3) * u + _E2) * u + _E1
    return (p * u + _E0) * _power_of_two(k)


def exp(x: Any) -> Any:
    """Exponential of lanes; stays finite, and above 0."""
    raise NotImplementedError


@overload(exp, strict=False)
def _exp(x: Any) -> Any:
    return _polynomial_exp if x.dtype == types.float32 else _one_by_one(_bounded_exp)


@numba.njit
def _bounded_exp(x):
    return math.exp(min(max(x, -_LARGEST), _LARGEST))


def _one_by_one(function: Any) -> Any:
    """A function of a number, for lanes in double precision."""

    def apply(x):
        numbers = np.empty(WIDTH)
        store(at(numbers, 0), 0, None, x)
        for i in range(WIDTH):
            numbers[i] = function(numbers[i])
        found = load(at(numbers, 0), 0, None)
        numbers[0] = 0.0  # it lives until here
        return found

    return apply
