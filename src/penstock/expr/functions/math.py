"""Mathematical functions of doubles, bits of integers, and the sign of numbers.

Elementary functions have the bits of Java's (:mod:`penstock.expr.java_math`), put together as Spark does:
``cot`` is the reciprocal of ``tan``, ``log(base, x)`` a quotient. Logarithms of what is not positive are
NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.floats import normalise_floats
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, same_as_first
from penstock.expr.functions.text_slices import Characters
from penstock.expr.functions.vectors import Vector, as_array, both, build, fail_where, unpack, valid_mask
from penstock.expr.java_math import java
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_DOUBLE = always(t.DoubleType())
_INTEGER = always(t.IntegerType())

_UNARY: dict[str, Callable[[Vector], Vector]] = {
    "Acos": partial(java, "acos"),
    "Acosh": partial(java, "acosh"),
    "Asin": partial(java, "asin"),
    "Asinh": partial(java, "asinh"),
    "Atan": partial(java, "atan"),
    "Atanh": lambda x: 0.5 * (java("log1p", x) - java("log1p", -x)),
    "Cbrt": partial(java, "cbrt"),
    "Cos": partial(java, "cos"),
    "Cosh": partial(java, "cosh"),
    "Cot": lambda x: 1 / java("tan", x),
    "Csc": lambda x: 1 / java("sin", x),
    "Exp": partial(java, "exp"),
    "Expm1": partial(java, "expm1"),
    "Rint": np.rint,
    "Sec": lambda x: 1 / java("cos", x),
    "Sin": partial(java, "sin"),
    "Sinh": partial(java, "sinh"),
    "Sqrt": np.sqrt,
    "Tan": partial(java, "tan"),
    "Tanh": partial(java, "tanh"),
    "ToDegrees": np.degrees,
    "ToRadians": np.radians,
}
_LOGARITHMS: dict[str, tuple[Callable[[Vector], Vector], float]] = {
    "Log": (partial(java, "log"), 0.0),
    "Log10": (partial(java, "log10"), 0.0),
    "Log1p": (partial(java, "log1p"), -1.0),
    "Log2": (lambda x: java("log", x) / math.log(2), 0.0),
}
_BINARY = {
    "Pow": partial(java, "power"),
    "Atan2": partial(java, "atan2"),
    "Hypot": partial(java, "hypot"),
}


@function(*_UNARY, result=_DOUBLE)
def elementary(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    with np.errstate(all="ignore"):
        return build(_UNARY[call.function](vector), valid, pa.float64())


@function(*_LOGARITHMS, result=_DOUBLE, nullable=True)
def logarithm(call: Call, args: list[Value], length: int) -> Value:
    compute, bound = _LOGARITHMS[call.function]
    vector, valid = unpack(args[0])
    with np.errstate(all="ignore"):
        return build(compute(vector), both(valid, ~(vector <= bound)), pa.float64())


@function("Logarithm", result=_DOUBLE, nullable=True)
def logarithm_to_base(call: Call, args: list[Value], length: int) -> Value:
    (base, base_valid), (vector, valid) = unpack(args[0]), unpack(args[1])
    with np.errstate(all="ignore"):
        result = np.broadcast_to(java("log", vector) / java("log", base), (length,))
        positive = np.broadcast_to(~(vector <= 0) & ~(base <= 0), (length,))
    return build(result, both(base_valid, valid, positive), pa.float64())


@function(*_BINARY, result=_DOUBLE)
def binary(call: Call, args: list[Value], length: int) -> Value:
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    result = _BINARY[call.function](left, right)
    return build(np.broadcast_to(result, (length,)), both(left_valid, right_valid), pa.float64())


@function("Signum", result=_DOUBLE)
def sign(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    numbers = vector.astype(np.float64)
    # NumPy's sign forgets that of zero.
    return build(np.where(numbers == 0, numbers, np.sign(numbers)), valid, pa.float64())


@function("NormalizeNaNAndZero", result=same_as_first)
def normalize(call: Call, args: list[Value], length: int) -> Value:
    normalised = normalise_floats(as_array(args[0], 1))
    return normalised[0] if isinstance(args[0], pa.Scalar) else normalised


@function("Factorial", result=always(t.LongType()), nullable=True)
def factorial(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    inside = (vector >= 0) & (vector <= 20)
    table = np.cumprod(np.concatenate([[1], np.arange(1, 21)]))
    return build(table[np.where(inside, vector, 0)], both(valid, inside), pa.int64())


_BITWISE = {"BitwiseAnd": pc.bit_wise_and, "BitwiseOr": pc.bit_wise_or, "BitwiseXor": pc.bit_wise_xor}


@function(*_BITWISE, result=same_as_first)
def bitwise(call: Call, args: list[Value], length: int) -> Value:
    return _BITWISE[call.function](*args)


@function("BitwiseNot", result=same_as_first)
def bitwise_not(call: Call, args: list[Value], length: int) -> Value:
    return pc.bit_wise_not(args[0])


@function("BitwiseCount", result=_INTEGER)
def bit_count(call: Call, args: list[Value], length: int) -> Value:
    """The number of ones; negative numbers count as 64 bits wide."""
    vector, valid = unpack(args[0])
    return build(np.bitwise_count(vector.astype(np.int64).view(np.uint64)), valid, pa.int32())


@function("ShiftLeft", "ShiftRight", "ShiftRightUnsigned", result=same_as_first)
def shift(call: Call, args: list[Value], length: int) -> Value:
    """The distance counts modulo the width of the type, as in Java."""
    (vector, valid), (distance, distance_valid) = unpack(args[0]), unpack(args[1])
    width = vector.dtype.itemsize * 8
    amount = (distance & (width - 1)).astype(vector.dtype)
    if call.function == "ShiftLeft":
        result = vector << amount
    elif call.function == "ShiftRight":
        result = vector >> amount
    else:
        unsigned = vector.view(f"u{vector.dtype.itemsize}")
        result = (unsigned >> amount.view(unsigned.dtype)).view(vector.dtype)
    return build(np.broadcast_to(result, (length,)), both(valid, distance_valid), args[0].type)


@function("BitwiseGet", result=always(t.ByteType()), raises=True)
def bit_get(call: Call, args: list[Value], length: int) -> Value:
    """One bit, counted from the lowest one."""
    (vector, valid), (place, place_valid) = (
        unpack(as_array(args[0], length)),
        unpack(as_array(args[1], length)),
    )
    outside = (place < 0) | (place >= vector.dtype.itemsize * 8)
    known = both(valid, place_valid)
    condition = "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE"
    fail_where(outside, known, call, args, condition, "there is no such bit")
    return build(vector.astype(np.int64) >> np.where(outside, 0, place) & 1, known, pa.int8())


_BITMAP = 32_768
"""Bits in one of Spark's bitmaps."""


@function(
    "BitmapExpressionUtils.bitmapBitPosition",
    "BitmapExpressionUtils.bitmapBucketNumber",
    result=always(t.LongType()),
)
def bitmap_place(call: Call, args: list[Value], length: int) -> Value:
    """Of a number its place in a bitmap, and which of the bitmaps it is, counted from 1."""
    vector, valid = unpack(args[0])
    with np.errstate(over="ignore"):
        if call.function.endswith("BucketNumber"):
            down = (vector + np.fmod(-vector, _BITMAP)) // _BITMAP
            return build(np.where(vector > 0, (vector - 1) // _BITMAP + 1, down), valid, pa.int64())
        return build(np.where(vector > 0, vector - 1, -vector) % _BITMAP, valid, pa.int64())


@function("BitmapExpressionUtils.bitmapCount", result=always(t.LongType()))
def bitmap_count(call: Call, args: list[Value], length: int) -> Value:
    characters = Characters.of(as_array(args[0], length))
    ones = np.concatenate([[0], np.cumsum(np.bitwise_count(characters.data).astype(np.int64))])
    offsets = characters.starts[characters.first]
    return build(ones[offsets[1:]] - ones[offsets[:-1]], valid_mask(characters.array), pa.int64())


def _width_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.LongType()


@function("WidthBucket", result=_width_type, nullable=True)
def width_bucket(call: Call, args: list[Value], length: int) -> Value:
    """The number of the bucket of equal width between two bounds, which may be in falling order."""
    arrays = [unpack(as_array(arg, length)) for arg in args]
    (value, _), (low, _), (high, _), (buckets, _) = arrays
    value, low, high = (side.astype(np.float64) for side in (value, low, high))
    valid = both(*[mask for _, mask in arrays])
    usable = (buckets > 0) & (buckets != 2**63 - 1) & (low != high) & np.isfinite(low) & np.isfinite(high)
    usable &= ~np.isnan(value)
    with np.errstate(all="ignore"):
        lower, upper = np.minimum(low, high), np.maximum(low, high)
        place = np.where(
            low < high,
            buckets * (value - lower) / (upper - lower),
            buckets * (upper - value) / (upper - lower),
        )
        before = np.where(low < high, value < lower, value > upper)
        behind = np.where(low < high, value >= upper, value <= lower)
        inner = np.where(before | behind | ~usable, 0, place).astype(np.int64) + 1
    return build(np.where(before, 0, np.where(behind, buckets + 1, inner)), both(valid, usable), pa.int64())
