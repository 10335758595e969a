"""Functions of TIME, the time of day: making it, taking it apart, and arithmetic with intervals.

Catalyst calls static methods of its ``DateTimeUtils`` for all of these, in ANSI mode and without it: what is
out of range is an error in both. Values are nanoseconds since midnight, whatever the precision of the type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions import decimals
from penstock.expr.functions.cast_parse_times import zoned_to_utc
from penstock.expr.functions.cast_time_of_day import (
    NANOS_PER_DAY,
    NANOS_PER_MICRO,
    NANOS_PER_SECOND,
    TIME_OF_DAY,
    cut,
)
from penstock.expr.functions.cast_times import MICROS_PER_DAY
from penstock.expr.functions.making import OUT_OF_BOUNDS, micros_of
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, same_as_second
from penstock.expr.functions.vectors import Mask, as_array, both, build, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []

Integers = npt.NDArray[np.int64]

_UNITS = {
    "HOUR": 3_600 * NANOS_PER_SECOND,
    "MINUTE": 60 * NANOS_PER_SECOND,
    "SECOND": NANOS_PER_SECOND,
    "MILLISECOND": 1_000_000,
    "MICROSECOND": NANOS_PER_MICRO,
}
_OWN_TYPE = ("dataType",)


def _declared(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    """The type that Catalyst writes beside the call."""
    data_type = options["dataType"]
    assert isinstance(data_type, t.DataType)
    return data_type


def _columns(args: list[Value], length: int) -> tuple[list[Integers], Mask | None]:
    parts = [unpack(as_array(arg, length)) for arg in args]
    return [vector.astype(np.int64) for vector, _ in parts], both(*(mask for _, mask in parts))


@function("DateTimeUtils.makeTime", result=always(t.TimeType(6)), raises=True)
def make_time(call: Call, args: list[Value], length: int) -> Value:
    (hour, minute), valid = _columns(args[:2], length)
    seconds = as_array(args[2], length)
    micros = decimals.low_words(micros_of(seconds))
    valid = both(valid, valid_mask(seconds))
    good = (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (micros >= 0) & (micros < 60_000_000)
    fail_where(~good, valid, call, args, OUT_OF_BOUNDS, "there is no such time")
    nanos = (hour * 60 + minute) * 60 * NANOS_PER_SECOND + micros * NANOS_PER_MICRO
    return build(np.where(good, nanos, 0), valid, TIME_OF_DAY)


_FIELDS = {
    "DateTimeUtils.getHoursOfTime": (3_600, 24),
    "DateTimeUtils.getMinutesOfTime": (60, 60),
    "DateTimeUtils.getSecondsOfTime": (1, 60),
}


@function(*_FIELDS, result=always(t.IntegerType()))
def time_field(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    unit, modulus = _FIELDS[call.function]
    return build(vector // (unit * NANOS_PER_SECOND) % modulus, valid, pa.int32())


def _as_decimal(nanos: Integers, valid: Mask | None, data_type: t.DataType) -> pa.Array:
    """Nanoseconds as seconds, rounded to the digits of the type."""
    assert isinstance(data_type, t.DecimalType)
    whole = build(nanos, valid, pa.int64()).cast(pa.decimal128(19, 0))
    exact = decimals.relabel(whole, pa.decimal128(19, 9))
    return decimals.fit(exact, data_type.precision, data_type.scale)[0]


@function("DateTimeUtils.getSecondsOfTimeWithFraction", result=_declared, options=_OWN_TYPE)
def seconds_with_fraction(call: Call, args: list[Value], length: int) -> Value:
    """The second and its fraction, as far as the type of the time goes."""
    vector, valid = unpack(as_array(args[0], length))
    assert isinstance(call.data_type, t.DecimalType)
    return _as_decimal(cut(vector % (60 * NANOS_PER_SECOND), call.data_type.scale), valid, call.data_type)


@function("DateTimeUtils.timeToSeconds", result=_declared, options=_OWN_TYPE)
def time_to_seconds(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return _as_decimal(vector, valid, call.data_type)


_WHOLE = {
    "DateTimeUtils.timeToMillis": _UNITS["MILLISECOND"],
    "DateTimeUtils.timeToMicros": _UNITS["MICROSECOND"],
}


@function(*_WHOLE, result=always(t.LongType()))
def time_to_units(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return build(vector // _WHOLE[call.function], valid, pa.int64())


_FROM = {
    "DateTimeUtils.timeFromSeconds": NANOS_PER_SECOND,
    "DateTimeUtils.timeFromMillis": _UNITS["MILLISECOND"],
    "DateTimeUtils.timeFromMicros": _UNITS["MICROSECOND"],
}


@function(*_FROM, result=always(t.TimeType(6)), raises=True)
def time_from_units(call: Call, args: list[Value], length: int) -> Value:
    """A number of seconds, milliseconds or microseconds since midnight, which must be less than a day."""
    value, unit = args[0], _FROM[call.function]
    valid = valid_mask(value)
    if pa.types.is_decimal(value.type):
        nanos, good = _exact_nanos(value)
    else:
        vector, _ = unpack(value)
        with np.errstate(all="ignore"):
            scaled = vector.astype(np.float64) * unit
            good = (scaled > -1.0) & (scaled < NANOS_PER_DAY)
        if vector.dtype.kind == "i":
            good = (vector >= 0) & (vector < NANOS_PER_DAY // unit)
            nanos = np.where(good, vector, 0).astype(np.int64) * unit
        else:
            nanos = np.where(good, scaled, 0.0).astype(np.int64)
    fail_where(~good, valid, call, args, OUT_OF_BOUNDS, "there is no such time")
    return build(nanos, valid, TIME_OF_DAY)


def _exact_nanos(seconds: pa.Array) -> tuple[Integers, Mask]:
    """Nanoseconds of decimal seconds, and which of them are a whole number of nanoseconds within a day."""
    wide = decimals.wide(seconds, max(9, seconds.type.scale))
    cut_off = decimals.lowered(wide, 9)
    whole = pc.equal(decimals.wide(cut_off, wide.type.scale), wide).fill_null(False)
    day = pa.scalar(86_400, wide.type)
    inside = pc.and_(pc.greater_equal(wide, pa.scalar(0, wide.type)), pc.less(wide, day)).fill_null(False)
    good = np.asarray(pc.and_(whole, inside).to_numpy(zero_copy_only=False), np.bool_)
    return np.where(good, decimals.low_words(cut_off), 0), good


def _per_unit(call: Call, name: str, length: int, units: Value) -> list[tuple[int, Mask]]:
    """The size of each unit that is named, and the rows that name it."""
    names = as_array(units, length).dictionary_encode()
    codes = np.asarray(names.indices.fill_null(-1))
    found = []
    for code, unit in enumerate(names.dictionary.to_pylist()):
        size = _UNITS.get(unit.upper())
        if size is None:
            text = f"the unit {unit!r} of {name} is none of {', '.join(_UNITS)}"
            raise EvaluationError("INVALID_PARAMETER_VALUE.TIME_UNIT", text, expression=str(call))
        found.append((size, codes == code))
    return found


def _where_all_valid(args: list[Value], length: int) -> list[Value]:
    """The unit as NULL where another argument is NULL: Spark does not look at it there."""
    units = as_array(args[0], length)
    rest = both(*(valid_mask(as_array(arg, length)) for arg in args[1:]))
    if rest is not None:
        units = pc.if_else(pa.array(rest), units, pa.scalar(None, units.type))
    return [units, *args[1:]]


@function("DateTimeUtils.timeTrunc", result=same_as_second, raises=True)
def time_trunc(call: Call, args: list[Value], length: int) -> Value:
    args = _where_all_valid(args, length)
    vector, valid = unpack(as_array(args[1], length))
    result = vector.copy()
    for size, rows in _per_unit(call, "time_trunc", length, args[0]):
        result[rows] -= result[rows] % size
    return build(result, both(valid, valid_mask(args[0])), TIME_OF_DAY)


@function("DateTimeUtils.timeDiff", result=always(t.LongType()), raises=True)
def time_diff(call: Call, args: list[Value], length: int) -> Value:
    """Whole units from the first time to the second."""
    args = _where_all_valid(args, length)
    (start, end), valid = _columns(args[1:], length)
    between = end - start
    result = np.zeros(length, np.int64)
    for size, rows in _per_unit(call, "time_diff", length, args[0]):
        result[rows] = np.sign(between[rows]) * (np.abs(between[rows]) // size)
    return build(result, both(valid, valid_mask(args[0])), pa.int64())


@function("DateTimeUtils.timeAddInterval", result=_declared, options=_OWN_TYPE, raises=True)
def time_add_interval(call: Call, args: list[Value], length: int) -> Value:
    """A time some microseconds later, on the same day."""
    (nanos, micros), valid = _columns([args[0], args[2]], length)
    large = np.abs(micros.astype(np.float64)) * NANOS_PER_MICRO >= 2.0**63
    fail_where(large, valid, call, args[:3:2], "ARITHMETIC_OVERFLOW", "the interval is out of range")
    total = nanos + np.where(large, 0, micros) * NANOS_PER_MICRO
    outside = (total < 0) | (total >= NANOS_PER_DAY)
    fail_where(outside, valid, call, args[:3:2], "DATETIME_OVERFLOW", "the time is not on the same day")
    assert isinstance(call.data_type, t.TimeType)
    return build(cut(np.where(outside, 0, total), call.data_type.precision), valid, TIME_OF_DAY)


@function("DateTimeUtils.subtractTimes", result=always(t.DayTimeIntervalType(1, 3)))
def subtract_times(call: Call, args: list[Value], length: int) -> Value:
    (end, start), valid = _columns(args, length)
    between = end - start
    return build(np.sign(between) * (np.abs(between) // NANOS_PER_MICRO), valid, pa.duration("us"))


@function(
    "DateTimeUtils.makeTimestamp",
    "DateTimeUtils.makeTimestampNTZ",
    result=_declared,
    options=_OWN_TYPE,
    raises=True,
)
def timestamp_of_date_and_time(call: Call, args: list[Value], length: int) -> Value:
    """A date and a time of day, in the zone of the third argument if there is one."""
    (days, nanos), valid = _columns(args[:2], length)
    local = days * MICROS_PER_DAY + nanos // NANOS_PER_MICRO
    if len(args) > 2:
        zones = as_array(args[2], length)
        valid = both(valid, valid_mask(zones))
        local, known = zoned_to_utc(local, zones.fill_null("UTC"), "UTC")
        fail_where(~known, valid, call, args[2:], "INVALID_TIMEZONE", "there is no such time zone")
    return build(local, valid, to_arrow(call.data_type))
