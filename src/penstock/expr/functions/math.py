"""Mathematical functions of doubles, bits of integers, and the sign of numbers.

Elementary functions come from the C library and may differ from Java's in the last bit; where the two
disagree on special values (``pow(1, NaN)``) Java's answer is given. Logarithms of what is not positive
are NULL, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.floats import one_spelling
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, same_as_first
from penstock.expr.functions.text_slices import Characters
from penstock.expr.functions.vectors import Vector, as_array, both, build, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_DOUBLE = always(t.DoubleType())
_INTEGER = always(t.IntegerType())

_UNARY: dict[str, Callable[[Vector], Vector]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cbrt": np.cbrt,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Cot": lambda x: 1 / np.tan(x),
    "Csc": lambda x: 1 / np.sin(x),
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Rint": np.rint,
    "Sec": lambda x: 1 / np.cos(x),
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
    "ToDegrees": np.degrees,
    "ToRadians": np.radians,
}
_LOGARITHMS: dict[str, tuple[Callable[[Vector], Vector], float]] = {
    "Log": (np.log, 0.0),
    "Log10": (np.log10, 0.0),
    "Log1p": (np.log1p, -1.0),
    "Log2": (np.log2, 0.0),
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
        result = np.broadcast_to(np.log(vector) / np.log(base), (length,))
        positive = np.broadcast_to(~(vector <= 0) & ~(base <= 0), (length,))
    return build(result, both(base_valid, valid, positive), pa.float64())


@function("Pow", "Atan2", "Hypot", result=_DOUBLE)
def binary(call: Call, args: list[Value], length: int) -> Value:
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    with np.errstate(all="ignore"):
        if call.function == "Pow":
            result = np.power(left, right)
            # In C one to any power is one, and so is minus one to an infinite one; in Java they are NaN.
            odd = np.isnan(right) | (np.isinf(right) & (np.abs(left) == 1))
            result = np.where(odd, np.nan, result)
        else:
            # Spark adds zero to both sides of atan2, which makes -0.0 positive.
            result = (
                np.arctan2(left + 0.0, right + 0.0) if call.function == "Atan2" else np.hypot(left, right)
            )
    return build(np.broadcast_to(result, (length,)), both(left_valid, right_valid), pa.float64())


@function("Signum", result=_DOUBLE)
def sign(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    numbers = vector.astype(np.float64)
    # NumPy's sign forgets that of zero.
    return build(np.where(numbers == 0, numbers, np.sign(numbers)), valid, pa.float64())


@function("NormalizeNaNAndZero", result=same_as_first)
def normalize(call: Call, args: list[Value], length: int) -> Value:
    spelled = one_spelling(as_array(args[0], 1))
    return spelled[0] if isinstance(args[0], pa.Scalar) else spelled


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
