"""Casts between dates, timestamps, intervals and numbers.

A date is a number of days, a timestamp a number of microseconds since 1970 in UTC, a timestamp without
time zone the same of local time. What crosses between local time and UTC uses the session's zone.
"""

from __future__ import annotations

import decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.cast_numbers import double_to_decimal, fits_integer
from penstock.expr.functions.conversion import INVALID_INPUT, OUT_OF_RANGE, OVERFLOW, Conversion
from penstock.expr.functions.vectors import build, map_distinct, unpack
from penstock.expr.types import to_arrow
from penstock.expr.zones import local_to_utc, utc_to_local

__all__ = [
    "MICROS_PER_DAY",
    "MICROS_PER_SECOND",
    "cast_interval",
    "interval_to_integer",
    "number_to_timestamp",
    "timestamp_to_number",
    "to_local",
    "to_time",
]

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
_DAY_TIME_UNITS = (MICROS_PER_DAY, 3600 * MICROS_PER_SECOND, 60 * MICROS_PER_SECOND, MICROS_PER_SECOND)
_YEAR_MONTH_UNITS = (12, 1)

Vector = npt.NDArray[np.int64]


def to_local(vector: Vector, data_type: t.DataType, zone: str) -> Vector:
    """Microseconds of local time of a date or timestamp of any kind."""
    if isinstance(data_type, t.DateType):
        return vector.astype(np.int64) * MICROS_PER_DAY
    return utc_to_local(vector, zone) if isinstance(data_type, t.TimestampType) else vector


def to_time(value: pa.Array, how: Conversion) -> pa.Array:
    """Between date, timestamp and timestamp without time zone."""
    vector, valid = unpack(value)
    local = to_local(vector, how.source, how.zone)
    if isinstance(how.target, t.DateType):
        return build((local // MICROS_PER_DAY).astype(np.int32), valid, pa.date32())
    if isinstance(how.target, t.TimestampType):
        local = local_to_utc(local, how.zone)
    return build(local, valid, to_arrow(how.target))


def number_to_timestamp(value: pa.Array, how: Conversion) -> pa.Array:
    """Seconds since 1970 as a timestamp."""
    target = to_arrow(how.target)
    if pa.types.is_decimal(value.type):
        return _decimal_to_timestamp(value, target)
    vector, valid = unpack(value)
    if vector.dtype == np.bool_:
        return build(vector.astype(np.int64), valid, target)
    if vector.dtype.kind == "i":
        limit = (2**63 - 1) // MICROS_PER_SECOND
        seconds = vector.astype(np.int64)
        micros = np.clip(seconds, -limit, limit) * MICROS_PER_SECOND
        # Seconds beyond the range of microseconds stop at its ends.
        micros = np.where(seconds > limit, 2**63 - 1, np.where(seconds < -limit, -(2**63), micros))
        return build(micros, valid, target)
    return _float_to_timestamp(value, how)


def _decimal_to_timestamp(value: pa.Array, target: pa.DataType) -> pa.Array:
    scaled = value.cast(pa.decimal256(76, max(6, value.type.scale)), safe=False)
    micros = decimals.relabel(scaled, pa.decimal256(76, scaled.type.scale - 6))
    words = decimals.low_words(decimals.lowered(micros, 0))
    result = pc.if_else(pc.is_valid(value), pa.array(words), pa.scalar(None, pa.int64()))
    if value.type.precision > decimals.NEGATION_DIGITS:
        # Spark multiplies with 34 digits, which shows in longer decimals.
        long = decimals.longer_than(value, decimals.NEGATION_DIGITS)
        context = decimal.Context(prec=decimals.NEGATION_DIGITS, rounding=decimal.ROUND_HALF_EVEN)

        def compute(one: decimal.Decimal) -> int:
            product = int(context.multiply(one, decimal.Decimal(MICROS_PER_SECOND)))
            return (product + 2**63) % 2**64 - 2**63

        rows = pa.array(long)
        rounded = map_distinct(compute, [value.filter(rows)], int(long.sum()), pa.int64())
        result = pc.replace_with_mask(result, rows, rounded)
    return result.cast(target)


def _float_to_timestamp(value: pa.Array, how: Conversion) -> pa.Array:
    vector, valid = unpack(value)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = vector.astype(np.float64) * MICROS_PER_SECOND
    finite = np.isfinite(vector)
    high = scaled >= 2.0**63
    bad = high | (scaled < -(2.0**63))
    safe = np.where(finite & ~bad, scaled, 0.0).astype(np.int64)
    micros = np.where(bad, np.where(high, 2**63 - 1, -(2**63)), safe)
    result = build(micros, valid, to_arrow(how.target))
    result = how.resolve_failures(result, ~finite, value, INVALID_INPUT)
    return result if how.legacy else how.resolve_failures(result, bad & finite, value, OVERFLOW)


def timestamp_to_number(value: pa.Array, how: Conversion) -> pa.Array:
    """A timestamp as seconds since 1970: whole ones for integers, with fraction otherwise."""
    vector, valid = unpack(value)
    target = to_arrow(how.target)
    if isinstance(how.target, t.BooleanType):
        return build(vector != 0, valid, target)
    if isinstance(how.target, t.DecimalType):
        seconds = build(vector / MICROS_PER_SECOND, valid, pa.float64())
        result, bad = double_to_decimal(
            seconds, how.target.precision, how.target.scale, shortest=how.shortest
        )
        return result if bad is None else how.resolve_failures(result, bad, value, OUT_OF_RANGE)
    if pa.types.is_floating(target):
        return build((vector / MICROS_PER_SECOND).astype(target.to_pandas_dtype()), valid, target)
    whole = vector // MICROS_PER_SECOND
    result = build(whole.astype(target.to_pandas_dtype()), valid, target)
    return how.resolve_failures(result, ~fits_integer(whole, target), value, OVERFLOW)


def cast_interval(value: pa.Array, how: Conversion) -> pa.Array:
    """An interval to other units: what is smaller than the last unit is cut off."""
    vector, valid = unpack(value)
    if isinstance(how.target, t.DayTimeIntervalType):
        unit = 1 if how.target.endField == 3 else _DAY_TIME_UNITS[how.target.endField]
    else:
        assert isinstance(how.target, t.YearMonthIntervalType)
        unit = _YEAR_MONTH_UNITS[how.target.endField]
    return build(vector - np.fmod(vector, unit), valid, value.type)


def interval_to_integer(value: pa.Array, how: Conversion) -> pa.Array:
    """An interval as a whole number of its last unit."""
    vector, valid = unpack(value)
    if isinstance(how.source, t.DayTimeIntervalType):
        unit = _DAY_TIME_UNITS[how.source.endField]
    else:
        assert isinstance(how.source, t.YearMonthIntervalType)
        unit = _YEAR_MONTH_UNITS[how.source.endField]
    whole = (vector - np.fmod(vector, unit)) // unit
    target = to_arrow(how.target)
    result = build(whole.astype(target.to_pandas_dtype()), valid, target)
    return how.resolve_failures(result, ~fits_integer(whole, target), value, OVERFLOW, in_legacy_too=True)
