"""ROUND, BROUND, CEIL and FLOOR, on every numeric type.

Spark rounds a double by its shortest decimal form: 2.675 rounds to 2.68, although the double is a little
less than that. Multiplying by a power of ten and rounding gives the same answer except within a few
units in the last place of a tie; those rows, and only those, are rounded exactly, once per distinct value.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.registry import ANSI, Value, function, when_ansi
from penstock.expr.functions.rules import MAX_PRECISION, bounded_decimal, decimal_of, literal_of
from penstock.expr.functions.vectors import Vector, as_array, build, fail_where, map_distinct, unpack
from penstock.expr.nodes import Call, Expr, Literal
from penstock.expr.types import to_arrow

__all__: list[str] = []

_DECIMAL_MODES = {
    "Round": "half_towards_infinity",
    "BRound": "half_to_even",
    "RoundCeil": "up",
    "RoundFloor": "down",
}
_OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION"


def _scale(args: Sequence[Expr]) -> int:
    scale = literal_of(args[1], "round", "number of digits")
    return 0 if scale is None else int(scale)


def _round_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not isinstance(args[0].data_type, t.DecimalType):
        return args[0].data_type
    scale = _scale(args)
    precision, old = decimal_of(args[0])
    # Rounding up may need one more digit before the point: 9.9 becomes 10.
    whole = precision - old + 1
    if scale < 0:
        return t.DecimalType(min(max(whole, -scale + 1), MAX_PRECISION), 0)
    new = min(old, scale)
    return t.DecimalType(min(whole + new, MAX_PRECISION), new)


def _round_raises(call: Call) -> bool:
    return not isinstance(call.data_type, (t.DoubleType, t.FloatType))


@function("Round", "BRound", "RoundCeil", "RoundFloor", result=_round_type, moded=True, raises=_round_raises)
def round_to(call: Call, args: list[Value], length: int) -> Value:
    digits = call.args[1]
    assert isinstance(digits, Literal)
    scale = int(digits.value)
    value = as_array(args[0], length)
    if pa.types.is_decimal(value.type):
        return _round_decimal(call, value, scale)
    if pa.types.is_floating(value.type):
        return _round_float(value, scale, call.function)
    return value if scale >= 0 else _round_integer(call, value, scale)


def _round_decimal(call: Call, value: pa.Array, scale: int) -> pa.Array:
    target = to_arrow(call.data_type)
    mode = _DECIMAL_MODES[call.function]
    if scale < 0:
        value = decimals.rounded(value, scale, mode)
    result, bad = decimals.fit(value, target.precision, target.scale, mode)
    if bad is not None:
        text = f"the rounded value does not fit {call.data_type.simpleString()}"
        fail_where(bad, None, call, [value], _OUT_OF_RANGE, text)
    return result


def _exact(number: float, scale: int, mode: str) -> float:
    rounding = decimal.ROUND_HALF_UP if mode == "Round" else decimal.ROUND_HALF_EVEN
    context = decimal.Context(prec=1100, rounding=rounding)
    return float(context.quantize(decimal.Decimal(repr(number)), decimal.Decimal(1).scaleb(-scale)))


def _round_float(value: pa.Array, scale: int, mode: str) -> pa.Array:
    vector, valid = unpack(value)
    numbers = vector.astype(np.float64)
    if not -22 <= scale <= 22:
        easy = np.zeros(len(numbers), np.bool_)
        rounded = numbers
    else:
        rounded, easy = _round_easily(numbers, scale, mode)
    decided = easy | ~np.isfinite(numbers)
    rounded = np.where(np.isfinite(numbers), rounded, numbers)
    hard = np.flatnonzero(~decided if valid is None else ~decided & valid)
    if len(hard):
        exact = map_distinct(
            lambda x: _exact(x, scale, mode), [pa.array(numbers[hard])], len(hard), pa.float64()
        )
        rounded[hard] = np.asarray(exact)
    # A decimal has no negative zero.
    rounded = np.where(rounded == 0, 0.0, rounded)
    with np.errstate(over="ignore"):
        return build(rounded.astype(vector.dtype), valid, value.type)


def _round_easily(numbers: Vector, scale: int, mode: str) -> tuple[Vector, Vector]:
    """Rounded values, and the rows in which they are certain."""
    power = 10.0 ** abs(scale)
    with np.errstate(all="ignore"):
        magnitude = np.abs(numbers)
        scaled = magnitude * power if scale >= 0 else magnitude / power
        whole = np.floor(scaled)
        distance = np.abs(scaled - whole - 0.5)
        rounded = whole + (scaled - whole > 0.5)
        result = np.copysign(rounded / power if scale >= 0 else rounded * power, numbers)
        certain = (scaled < 2.0**50) & (distance > scaled * 2.0**-50)
    return result, certain


def _round_integer(call: Call, value: pa.Array, scale: int) -> pa.Array:
    vector, valid = unpack(value)
    rounded = decimals.rounded(value.cast(pa.decimal128(19, 0)), scale, _DECIMAL_MODES[call.function])
    words = decimals.low_words(rounded)
    limits = np.iinfo(vector.dtype)
    result, _ = decimals.fit(rounded, MAX_PRECISION, 0)
    outside = np.asarray(pa.compute.greater(result, pa.scalar(int(limits.max), result.type)).fill_null(False))
    outside |= np.asarray(pa.compute.less(result, pa.scalar(int(limits.min), result.type)).fill_null(False))
    if call.option("mode") == ANSI:
        condition = "ARITHMETIC_OVERFLOW"
        fail_where(outside, valid, call, [value], condition, f"overflow of {call.data_type.simpleString()}")
    return build(words.astype(vector.dtype), valid, value.type)


def _whole_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if isinstance(args[0].data_type, t.DecimalType):
        precision, scale = decimal_of(args[0])
        return bounded_decimal(precision - scale + 1, 0)
    return t.LongType()


@function("Ceil", "Floor", result=_whole_type, moded=True, raises=when_ansi)
def whole(call: Call, args: list[Value], length: int) -> Value:
    (value,) = args
    if pa.types.is_decimal(value.type):
        target = to_arrow(call.data_type)
        mode = "up" if call.function == "Ceil" else "down"
        result, bad = decimals.fit(as_array(value, length), target.precision, 0, mode)
        if bad is not None:
            fail_where(bad, None, call, args, _OUT_OF_RANGE, "the result has too many digits")
        return result
    vector, valid = unpack(value)
    if vector.dtype.kind == "i":
        return build(vector.astype(np.int64), valid, pa.int64())
    numbers = (np.ceil if call.function == "Ceil" else np.floor)(vector.astype(np.float64))
    high, low = numbers >= 2.0**63, numbers < -(2.0**63)
    if call.option("mode") == ANSI:
        fail_where(high | low, valid, call, args, "ARITHMETIC_OVERFLOW", "overflow of bigint")
    safe = np.where(high | low | np.isnan(numbers), 0.0, numbers).astype(np.int64)
    return build(np.where(high, 2**63 - 1, np.where(low, -(2**63), safe)), valid, pa.int64())
