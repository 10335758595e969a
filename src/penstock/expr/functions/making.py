"""Timestamps and intervals put together from numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions import decimals
from penstock.expr.functions.cast_parse_times import civil_days, zoned_to_utc
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND
from penstock.expr.functions.registry import ANSI, Value, function, when_ansi
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import Vector, as_array, both, build, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow
from penstock.expr.zones import local_to_utc

__all__ = ["OUT_OF_BOUNDS", "micros_of"]

OUT_OF_BOUNDS = "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"


def micros_of(seconds: pa.Array) -> pa.Array:
    """Seconds with six digits behind the point."""
    return decimals.lowered(seconds, 6) if seconds.type.scale > 6 else decimals.wide(seconds, 6)


def _timestamp_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not isinstance(args[5].data_type, t.DecimalType):
        raise UnsupportedQuery("make_timestamp with seconds that are not a decimal")
    target = options["dataType"]
    assert isinstance(target, t.DataType)
    return target


@function(
    "MakeTimestamp",
    result=_timestamp_type,
    options=("dataType",),
    moded=True,
    zoned=True,
    raises=when_ansi,
    nullable=True,
)
def make_timestamp(call: Call, args: list[Value], length: int) -> Value:
    """Sixty seconds without a fraction are the next minute; a seventh argument names a time zone."""
    parts = [unpack(as_array(arg, length)) for arg in args[:5]]
    year, month, day, hour, minute = (part.astype(np.int64) for part, _ in parts)
    seconds = as_array(args[5], length)
    micros = decimals.low_words(micros_of(seconds))
    valid = both(*(mask for _, mask in parts), valid_mask(seconds))
    days, good = civil_days(year, month, day)
    good &= (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60)
    good &= (micros >= 0) & (micros <= 60 * MICROS_PER_SECOND)
    if call.option("mode") == ANSI:
        fail_where(~good, valid, call, args, OUT_OF_BOUNDS, "there is no such date or time")
    local = np.where(good, days * MICROS_PER_DAY + (hour * 60 + minute) * 60 * MICROS_PER_SECOND + micros, 0)
    moments = local
    if isinstance(call.data_type, t.TimestampType):
        moments = local_to_utc(local, call.option("timezone"))
        if len(args) > 6:
            zones = as_array(args[6], length)
            moments, known = zoned_to_utc(local, zones.fill_null("UTC"), call.option("timezone"))
            valid = both(valid, valid_mask(zones), known)
    return build(moments, both(valid, good), to_arrow(call.data_type))


def _sum(call: Call, args: list[Value], parts: list[Vector], units: list[int], bits: int) -> Vector:
    """The sum of the parts in their units; an error where it does not fit."""
    total = np.zeros(len(parts[0]), np.int64)
    estimate = np.zeros(len(parts[0]), np.float64)
    with np.errstate(over="ignore"):
        for part, unit in zip(parts, units, strict=True):
            total = total + part.astype(np.int64) * unit
            estimate = estimate + part.astype(np.float64) * unit
    # The sum in doubles is rough but does not wrap around.
    bad = np.asarray(np.abs(estimate) >= 2.0 ** (bits - 1), np.bool_)
    condition = "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION"
    valid = both(*(valid_mask(arg) for arg in args))
    fail_where(bad, valid, call, args, condition, "the interval is out of range")
    return np.where(bad, 0, total)


@function("MakeDTInterval", result=always(t.DayTimeIntervalType(0, 3)), raises=True)
def make_day_time(call: Call, args: list[Value], length: int) -> Value:
    arrays = [as_array(arg, length) for arg in args]
    numbers = [unpack(array)[0] for array in arrays[:3]]
    micros = decimals.low_words(micros_of(arrays[3]))
    units = [MICROS_PER_DAY, 3_600 * MICROS_PER_SECOND, 60 * MICROS_PER_SECOND, 1]
    total = _sum(call, list(arrays), [*numbers, micros], units, 64)
    return build(total, both(*(valid_mask(array) for array in arrays)), pa.duration("us"))


@function("MakeYMInterval", result=always(t.YearMonthIntervalType(0, 1)), raises=True)
def make_year_month(call: Call, args: list[Value], length: int) -> Value:
    arrays = [as_array(arg, length) for arg in args]
    total = _sum(call, list(arrays), [unpack(array)[0] for array in arrays], [12, 1], 32)
    return build(total.astype(np.int32), both(*(valid_mask(array) for array in arrays)), pa.int32())
