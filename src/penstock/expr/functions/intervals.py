"""Intervals times and divided by numbers, rounded half away from zero."""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.vectors import as_array, both, build, fail_where, map_distinct, unpack
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_EXACT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def _widest(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    day_time = isinstance(args[0].data_type, t.DayTimeIntervalType)
    return t.DayTimeIntervalType(0, 3) if day_time else t.YearMonthIntervalType(0, 1)


@function(
    "MultiplyDTInterval",
    "MultiplyYMInterval",
    "DivideDTInterval",
    "DivideYMInterval",
    result=_widest,
    raises=True,
)
def scale(call: Call, args: list[Value], length: int) -> Value:
    """Exactly for integers and decimals; for doubles in double arithmetic, as in Spark."""
    multiply = call.function.startswith("Multiply")
    amounts, valid = unpack(as_array(args[0], length))
    numbers = as_array(args[1], length)
    if not multiply:
        zero = np.asarray(pa.compute.equal(numbers, pa.scalar(0, numbers.type)).fill_null(False), np.bool_)
        condition = "INTERVAL_DIVIDED_BY_ZERO"
        fail_where(zero, valid, call, args, condition, "an interval is divided by zero")
    whole = build(amounts.astype(np.int64), valid, pa.int64())
    if pa.types.is_floating(numbers.type):
        result, known = _in_doubles(whole, numbers, multiply)
    else:
        exact = map_distinct(
            lambda a, n: _exactly(a, n, multiply), [whole, numbers], length, pa.decimal256(76, 0)
        )
        large = pa.compute.greater(pa.compute.abs(exact), pa.scalar(2**63 - 1, pa.decimal256(76, 0)))
        bad = np.asarray(large.fill_null(False), np.bool_)
        fail_where(bad, None, call, args, "ARITHMETIC_OVERFLOW", "the interval is out of range")
        result, known = unpack(exact.cast(pa.int64()))
    limits = np.iinfo(amounts.dtype)
    outside = (result < limits.min) | (result > limits.max)
    fail_where(outside, known, call, args, "ARITHMETIC_OVERFLOW", "the interval is out of range")
    return build(result.astype(amounts.dtype), known, args[0].type)


def _exactly(amount: int, number: Any, multiply: bool) -> decimal.Decimal:
    factor = decimal.Decimal(number)
    value = (
        _EXACT.multiply(decimal.Decimal(amount), factor)
        if multiply
        else _EXACT.divide(decimal.Decimal(amount), factor)
    )
    return value.quantize(decimal.Decimal(1), decimal.ROUND_HALF_UP, _EXACT)


def _in_doubles(whole: pa.Array, numbers: pa.Array, multiply: bool) -> tuple[Any, Any]:
    (amounts, valid), (factors, factors_valid) = unpack(whole), unpack(numbers)
    with np.errstate(all="ignore"):
        value = amounts * factors.astype(np.float64) if multiply else amounts / factors.astype(np.float64)
        rounded = np.copysign(np.floor(np.abs(value) + 0.5), value)
        result = np.where(np.isfinite(rounded), rounded, 0).astype(np.int64)
    return result, both(valid, factors_valid)
