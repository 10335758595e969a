"""Addition, subtraction, multiplication, division and what belongs to them, for every numeric type.

In ANSI mode an overflow or a zero divisor is an error, in TRY mode it is NULL, and in LEGACY mode
integers wrap around and a zero divisor gives NULL, as Spark defines the three. The overflow of an integer
operation is found by Arrow's checked kernels; the failing row is looked for only once one has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.registry import ANSI, LEGACY, Value, function, when_ansi
from penstock.expr.functions.rules import MAX_PRECISION, adjusted_decimal, always, decimal_of, same_as_first
from penstock.expr.functions.vectors import (
    Mask,
    as_array,
    both,
    build,
    fail_where,
    invalidate,
    unpack,
    valid_mask,
)
from penstock.expr.nodes import Call, Expr, Literal
from penstock.expr.types import to_arrow

__all__ = ["checked_decimal"]

_WRAPPING: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "Add": (pc.add, pc.add_checked),
    "Subtract": (pc.subtract, pc.subtract_checked),
    "Multiply": (pc.multiply, pc.multiply_checked),
}
_OBJECT: dict[str, Callable[..., Any]] = {"Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply}


def _is_float(data_type: t.DataType) -> bool:
    return isinstance(data_type, (t.DoubleType, t.FloatType))


def _additive_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    left = args[0].data_type
    if isinstance(left, t.DecimalType):
        (p1, s1), (p2, s2) = decimal_of(args[0]), decimal_of(args[1])
        scale = max(s1, s2)
        return adjusted_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if isinstance(left, t.DayTimeIntervalType) and isinstance(args[1].data_type, t.DayTimeIntervalType):
        right = args[1].data_type
        return t.DayTimeIntervalType(
            min(left.startField, right.startField), max(left.endField, right.endField)
        )
    if isinstance(left, t.YearMonthIntervalType) and isinstance(args[1].data_type, t.YearMonthIntervalType):
        other = args[1].data_type
        return t.YearMonthIntervalType(
            min(left.startField, other.startField), max(left.endField, other.endField)
        )
    return left


def _product_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not isinstance(args[0].data_type, t.DecimalType):
        return args[0].data_type
    (p1, s1), (p2, s2) = decimal_of(args[0]), decimal_of(args[1])
    return adjusted_decimal(p1 + p2 + 1, s1 + s2)


def _quotient_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not isinstance(args[0].data_type, t.DecimalType):
        return args[0].data_type
    (p1, s1), (p2, s2) = decimal_of(args[0]), decimal_of(args[1])
    scale = max(6, s1 + p2 + 1)
    return adjusted_decimal(p1 - s1 + s2 + scale, scale)


def _remainder_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not isinstance(args[0].data_type, t.DecimalType):
        return args[0].data_type
    (p1, s1), (p2, s2) = decimal_of(args[0]), decimal_of(args[1])
    scale = max(s1, s2)
    return adjusted_decimal(min(p1 - s1, p2 - s2) + scale, scale)


def _sum_raises(call: Call) -> bool:
    """A decimal's type has room for every result, unless it was cut to the digits that there are."""
    roomy = isinstance(call.data_type, t.DecimalType) and call.data_type.precision < MAX_PRECISION
    return when_ansi(call) and not _is_float(call.data_type) and not roomy


def _division_raises(call: Call) -> bool:
    """A divisor that is a constant other than zero rules out the error for floating point numbers."""
    divisor = call.args[1]
    safe = isinstance(divisor, Literal) and bool(divisor.value) and _is_float(divisor.data_type)
    return when_ansi(call) and not safe


def checked_decimal(call: Call, args: Sequence[Value], result: decimals.Checked) -> Value:
    """A decimal result whose overflow is an error in ANSI mode and NULL otherwise."""
    array, bad = result
    if bad is not None and call.option("mode") == ANSI:
        text = f"the result does not fit {call.data_type.simpleString()}"
        fail_where(bad, None, call, args, "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", text)
    return array


@function("Add", "Subtract", result=_additive_type, moded=True, raises=_sum_raises)
def add_or_subtract(call: Call, args: list[Value], length: int) -> Value:
    left, right = args
    if pa.types.is_decimal(left.type):
        target = to_arrow(call.data_type)
        negative = call.function == "Subtract"
        return checked_decimal(call, args, decimals.add(left, right, length, target, negative=negative))
    return _machine(call, args, length)


@function("Multiply", result=_product_type, moded=True, raises=_sum_raises)
def multiply(call: Call, args: list[Value], length: int) -> Value:
    if pa.types.is_decimal(args[0].type):
        return checked_decimal(
            call, args, decimals.multiply(args[0], args[1], length, to_arrow(call.data_type))
        )
    return _machine(call, args, length)


def _machine(call: Call, args: list[Value], length: int) -> Value:
    """Integers, floating point numbers and intervals."""
    wrapping, checked = _WRAPPING[call.function]
    if pa.types.is_floating(args[0].type) or call.option("mode") == LEGACY:
        return wrapping(*args)
    try:
        return checked(*args)
    except pa.ArrowInvalid:
        bad, valid = _overflown(call, args, length)
    interval = isinstance(call.data_type, (t.DayTimeIntervalType, t.YearMonthIntervalType))
    if call.option("mode") == ANSI:
        condition = "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION" if interval else "ARITHMETIC_OVERFLOW"
        if isinstance(call.data_type, (t.ByteType, t.ShortType)):
            condition = "BINARY_ARITHMETIC_OVERFLOW"
        fail_where(bad, valid, call, args, condition, f"overflow of {call.data_type.simpleString()}")
    return invalidate(as_array(wrapping(*args), length), bad)


def _overflown(call: Call, args: list[Value], length: int) -> tuple[Mask, Mask | None]:
    """The rows that overflow. Reached once a batch has failed, so exactness matters and speed does not."""
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    limits = np.iinfo(left.dtype)
    exact = _OBJECT[call.function](left.astype(object), right.astype(object))
    bad = np.broadcast_to((exact < int(limits.min)) | (exact > int(limits.max)), (length,))
    return np.asarray(bad, np.bool_), both(left_valid, right_valid)


def _zero_divisor(call: Call, args: list[Value], length: int, condition: str) -> Mask:
    """The rows with a zero divisor; an error in ANSI mode, unless the dividend is NULL."""
    right = args[1]
    if pa.types.is_decimal(right.type):
        zero = decimals.is_zero(right, length)
    else:
        vector, _ = unpack(right)
        zero = np.broadcast_to(vector == 0, (length,))
    if call.option("mode") == ANSI:
        valid = both(valid_mask(args[0]), valid_mask(right))
        fail_where(zero, valid, call, args, condition, "the divisor is zero")
    return zero


@function("Divide", result=_quotient_type, moded=True, raises=_division_raises)
def divide(call: Call, args: list[Value], length: int) -> Value:
    zero = _zero_divisor(call, args, length, "DIVIDE_BY_ZERO")
    if pa.types.is_decimal(args[0].type):
        return checked_decimal(
            call, args, decimals.divide(args[0], args[1], length, to_arrow(call.data_type))
        )
    return invalidate(as_array(pc.divide(*args), length), zero)


@function("IntegralDivide", result=always(t.LongType()), moded=True, raises=when_ansi)
def integral_divide(call: Call, args: list[Value], length: int) -> Value:
    zero = _zero_divisor(call, args, length, "DIVIDE_BY_ZERO")
    if pa.types.is_decimal(args[0].type):
        return decimals.integral_divide(args[0], args[1], length)
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    valid = both(left_valid, right_valid)
    lowest = np.iinfo(left.dtype).min
    bad = (left == lowest) & (right == -1)
    if bad.any() and call.option("mode") == ANSI:
        fail_where(bad, valid, call, args, "ARITHMETIC_OVERFLOW", "overflow of bigint")
    divisor = np.where(zero | (right == -1), 1, right)
    quotient = left // divisor
    # Floor division goes down for a negative quotient; Spark cuts the fraction off.
    quotient = quotient + ((left < 0) != (divisor < 0)) * (quotient * divisor != left)
    with np.errstate(over="ignore"):
        quotient = np.where(right == -1, -left, quotient)
    return build(quotient.astype(np.int64), both(valid, ~np.asarray(zero)), pa.int64())


@function("Remainder", result=_remainder_type, moded=True, raises=_division_raises)
def remainder(call: Call, args: list[Value], length: int) -> Value:
    zero = _zero_divisor(call, args, length, "REMAINDER_BY_ZERO")
    if pa.types.is_decimal(args[0].type):
        return decimals.remainder(args[0], args[1], length, to_arrow(call.data_type))
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    valid = both(left_valid, right_valid, ~zero)
    return build(_truncated_remainder(left, right, zero), valid, args[0].type)


def _truncated_remainder(left: Any, right: Any, zero: Mask) -> Any:
    """The remainder with the sign of the dividend, as Java defines it, for integers and floats."""
    if left.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            return np.fmod(left, np.where(zero, right.dtype.type(1), right))
    # The lowest integer divided by -1 overflows in hardware; its remainder is zero like all those by 1.
    return np.fmod(left, np.where(zero | (right == -1), right.dtype.type(1), right))


@function("Pmod", result=_remainder_type, moded=True, raises=_division_raises)
def positive_modulus(call: Call, args: list[Value], length: int) -> Value:
    zero = _zero_divisor(call, args, length, "REMAINDER_BY_ZERO")
    if pa.types.is_decimal(args[0].type):
        target = to_arrow(call.data_type)
        rest = decimals.remainder(args[0], args[1], length, target)
        negative = pc.less(rest, pa.scalar(0, target))
        shifted, _ = decimals.add(rest, args[1], length, pa.decimal128(38, target.scale))
        again = decimals.remainder(shifted, args[1], length, target)
        return pc.if_else(negative, again, rest)
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    if left.dtype.kind == "i" and left.dtype.itemsize < 4:
        # Java computes on at least 32 bits, so that adding the divisor cannot wrap around.
        left, right = left.astype(np.int32), right.astype(np.int32)
    rest = _truncated_remainder(left, right, zero)
    with np.errstate(over="ignore", invalid="ignore"):
        rest = np.where(rest < 0, _truncated_remainder(rest + right, right, zero), rest)
    return build(rest, both(left_valid, right_valid, ~zero), args[0].type)


def _sign_raises(call: Call) -> bool:
    if isinstance(call.data_type, t.DecimalType):
        return call.data_type.precision > decimals.NEGATION_DIGITS
    return when_ansi(call) and not _is_float(call.data_type)


@function("UnaryMinus", "Abs", result=same_as_first, moded=True, raises=_sign_raises)
def change_sign(call: Call, args: list[Value], length: int) -> Value:
    (value,) = args
    if pa.types.is_decimal(value.type) and value.type.precision > decimals.NEGATION_DIGITS:
        result, bad = decimals.negated(as_array(value, length), only_negative=call.function == "Abs")
        condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION"
        fail_where(
            bad, None, call, args, condition, f"the result does not fit {call.data_type.simpleString()}"
        )
        return result
    if pa.types.is_floating(value.type) or pa.types.is_decimal(value.type):
        return (pc.negate if call.function == "UnaryMinus" else pc.abs)(value)
    vector, valid = unpack(value)
    bad = vector == np.iinfo(vector.dtype).min
    if call.option("mode") == ANSI:
        condition = "ARITHMETIC_OVERFLOW"
        fail_where(bad, valid, call, args, condition, f"overflow of {call.data_type.simpleString()}")
    with np.errstate(over="ignore"):
        changed = -vector if call.function == "UnaryMinus" else np.abs(vector)
    return build(changed, valid, value.type)


@function("UnaryPositive", result=same_as_first)
def positive(call: Call, args: list[Value], length: int) -> Value:
    return args[0]
