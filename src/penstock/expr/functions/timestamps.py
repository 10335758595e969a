"""Arithmetic on timestamps: adding intervals, differences, cutting to a unit, time zones.

Days, months and years are added on the calendar of the session's zone, so that a day across a change
of clocks keeps the time of day; hours and less are added on the time line. Differences are between local
times, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.calendar import add_months, civil_from_days, days_in_month
from penstock.expr.functions.cast_parse_times import zoned_to_utc
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND, to_local
from penstock.expr.functions.dates import PERIODS, truncate_days
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, literal_of, same_as_first, same_as_second
from penstock.expr.functions.vectors import Mask, as_array, both, build, constant, is_scalar, unpack
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow
from penstock.expr.zones import is_zone, local_to_utc, offsets, resolve_local, utc_to_local

__all__ = ["on_calendar", "plus_months"]

Micros = npt.NDArray[np.int64]

_HOUR = 3_600 * MICROS_PER_SECOND


def _columns(args: list[Value], length: int) -> tuple[list[Micros], Mask | None]:
    parts = [unpack(as_array(arg, length)) for arg in args]
    return [vector.astype(np.int64) for vector, _ in parts], both(*(mask for _, mask in parts))


def on_calendar(
    moments: Micros, data_type: t.DataType, zone: str, change: Callable[[Micros], Micros]
) -> Micros:
    """Changes local time and comes back, keeping the offset where the new local time happens twice."""
    if not isinstance(data_type, t.TimestampType):
        return change(moments)
    before = offsets(moments, zone)
    return resolve_local(change(moments + before), zone, before)


def plus_months(local: Micros, months: Micros) -> Micros:
    """Local times some months later, on the last day where the month is too short."""
    days, time = np.divmod(local, MICROS_PER_DAY)
    return add_months(days, months) * MICROS_PER_DAY + time


@function("TimestampAddYMInterval", result=same_as_first, zoned=True)
def add_year_months(call: Call, args: list[Value], length: int) -> Value:
    (moments, months), valid = _columns(args, length)
    kind, zone = call.args[0].data_type, call.option("timezone")
    result = on_calendar(moments, kind, zone, lambda local: plus_months(local, months))
    return build(result, valid, to_arrow(call.data_type))


def _add_day_time(moments: Micros, amount: Micros, data_type: t.DataType, zone: str) -> Micros:
    """Whole days on the calendar, the rest on the time line."""
    rest = np.fmod(amount, MICROS_PER_DAY)
    whole = amount - rest
    if not whole.any():
        return moments + rest
    return on_calendar(moments, data_type, zone, lambda local: local + whole) + rest


@function("TimestampAddInterval", "TimeAdd", result=same_as_first, zoned=True)
def add_interval(call: Call, args: list[Value], length: int) -> Value:
    (moments, amount), valid = _columns(args, length)
    result = _add_day_time(moments, amount, call.args[0].data_type, call.option("timezone"))
    return build(result, valid, to_arrow(call.data_type))


_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": MICROS_PER_SECOND,
    "MINUTE": 60 * MICROS_PER_SECOND,
    "HOUR": _HOUR,
    "DAY": MICROS_PER_DAY,
    "DAYOFYEAR": MICROS_PER_DAY,
    "WEEK": 7 * MICROS_PER_DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _unit(options: Mapping[str, Any]) -> str:
    unit = str(options["unit"]).upper()
    if unit not in _UNITS and unit not in _MONTHS:
        raise UnsupportedQuery(f"the unit {unit} of time")
    return unit


def _add_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _unit(options)
    kind = args[1].data_type
    if isinstance(kind, t.DateType):
        raise UnsupportedQuery("timestampadd of a date", advice="Cast the date to a timestamp")
    return kind


@function("TimestampAdd", result=_add_type, zoned=True, options=("unit",))
def add_units(call: Call, args: list[Value], length: int) -> Value:
    (quantity, moments), valid = _columns(args, length)
    kind, zone, unit = call.args[1].data_type, call.option("timezone"), str(call.option("unit")).upper()
    if unit in _MONTHS:
        months = quantity * _MONTHS[unit]
        result = on_calendar(moments, kind, zone, lambda local: plus_months(local, months))
    elif _UNITS[unit] < MICROS_PER_DAY:
        result = moments + quantity * _UNITS[unit]
    else:
        result = on_calendar(moments, kind, zone, lambda local: local + quantity * _UNITS[unit])
    return build(result, valid, to_arrow(call.data_type))


def _diff_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _unit(options)
    return t.LongType()


@function("TimestampDiff", result=_diff_type, zoned=True, options=("unit",))
def difference_in_units(call: Call, args: list[Value], length: int) -> Value:
    """Whole units between two local times, cut off towards zero."""
    (start, end), valid = _columns(args, length)
    zone, unit = call.option("timezone"), str(call.option("unit")).upper()
    start = to_local(start, call.args[0].data_type, zone)
    end = to_local(end, call.args[1].data_type, zone)
    if unit in _MONTHS:
        return build(_towards_zero(_months_between(start, end), _MONTHS[unit]), valid, pa.int64())
    return build(_towards_zero(end - start, _UNITS[unit]), valid, pa.int64())


def _towards_zero(vector: Micros, unit: int) -> Micros:
    return np.asarray((vector - np.fmod(vector, unit)) // unit)


def _months_between(start: Micros, end: Micros) -> Micros:
    (start_day, start_time), (end_day, end_time) = (
        np.divmod(start, MICROS_PER_DAY),
        np.divmod(end, MICROS_PER_DAY),
    )
    # A last day that is not complete does not count.
    end_day = end_day - ((end_day > start_day) & (end_time < start_time))
    end_day = end_day + ((end_day < start_day) & (end_time > start_time))
    (y1, m1, d1), (y2, m2, d2) = civil_from_days(start_day), civil_from_days(end_day)
    return _towards_zero(((y2 * 12 + m2) * 32 + d2) - ((y1 * 12 + m1) * 32 + d1), 32)


@function(
    "SubtractTimestamps", result=always(t.DayTimeIntervalType(0, 3)), zoned=True, options=("legacyInterval",)
)
def subtract(call: Call, args: list[Value], length: int) -> Value:
    (end, start), valid = _columns(args, length)
    zone = call.option("timezone")
    end = to_local(end, call.args[0].data_type, zone)
    start = to_local(start, call.args[1].data_type, zone)
    return build(end - start, valid, pa.duration("us"))


_CUTS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": MICROS_PER_SECOND}
_CLOCK_CUTS = {"MINUTE": 60 * MICROS_PER_SECOND, "HOUR": _HOUR, "DAY": MICROS_PER_DAY, "DD": MICROS_PER_DAY}


@function("TruncTimestamp", result=same_as_second, zoned=True, nullable=True)
def truncate(call: Call, args: list[Value], length: int) -> Value:
    """An unknown unit gives NULL."""
    moments, valid = unpack(as_array(args[1], length))
    zone, kind = call.option("timezone"), call.args[1].data_type
    target = to_arrow(call.data_type)
    units = [constant(args[0])] if is_scalar(args[0]) else pc.unique(args[0]).to_pylist()
    result = pa.nulls(length, target)
    for unit in units:
        cut = _truncated(moments, (unit or "").upper(), kind, zone)
        if cut is not None:
            chosen = pa.scalar(True) if is_scalar(args[0]) else pc.equal(args[0], unit).fill_null(False)
            result = pc.if_else(chosen, build(cut, valid, target), result)
    return result


def _truncated(moments: Micros, unit: str, kind: t.DataType, zone: str) -> Micros | None:
    if unit in _CUTS:
        return moments - moments % _CUTS[unit]
    if unit in _CLOCK_CUTS:
        size = _CLOCK_CUTS[unit]
        return on_calendar(moments, kind, zone, lambda local: local - local % size)
    if unit in PERIODS:
        days = to_local(moments, kind, zone) // MICROS_PER_DAY
        local = truncate_days(days, PERIODS[unit]) * MICROS_PER_DAY
        return local_to_utc(local, zone) if isinstance(kind, t.TimestampType) else local
    return None


@function("MonthsBetween", result=always(t.DoubleType()), zoned=True)
def months_between(call: Call, args: list[Value], length: int) -> Value:
    """A month counts 31 days, except between equal days of the month or two last days."""
    (first, second), valid = _columns(args[:2], length)
    rounded, rounded_valid = unpack(as_array(args[2], length))
    zone = call.option("timezone")
    days1, days2 = (utc_to_local(side, zone) // MICROS_PER_DAY for side in (first, second))
    (y1, m1, d1), (y2, m2, d2) = civil_from_days(days1), civil_from_days(days2)
    months = ((y1 * 12 + m1) - (y2 * 12 + m2)).astype(np.float64)
    whole = (d1 == d2) | ((d1 == days_in_month(y1, m1)) & (d2 == days_in_month(y2, m2)))
    seconds1, seconds2 = (
        (side - local_to_utc(days * MICROS_PER_DAY, zone)) // MICROS_PER_SECOND
        for side, days in ((first, days1), (second, days2))
    )
    difference = months + ((d1 - d2) * 86_400 + seconds1 - seconds2) / float(31 * 86_400)
    difference = np.where(rounded, np.floor(difference * 1e8 + 0.5) / 1e8, difference)
    return build(np.where(whole, months, difference), both(valid, rounded_valid), pa.float64())


def _zone_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    zone = literal_of(args[1], "a conversion between time zones", "time zone")
    if zone is not None and not is_zone(zone):
        raise UnsupportedQuery(f"the time zone {zone}", reason="the system's zone database does not have it")
    return t.TimestampType()


@function("FromUTCTimestamp", "ToUTCTimestamp", result=_zone_type)
def shift_zone(call: Call, args: list[Value], length: int) -> Value:
    """Takes a timestamp for local time of UTC and of a zone in turn."""
    moments, valid = unpack(as_array(args[0], length))
    zone = constant(args[1]) if is_scalar(args[1]) else constant(args[1][0])
    shifted = (utc_to_local if call.function == "FromUTCTimestamp" else local_to_utc)(moments, zone)
    return build(shifted, valid, to_arrow(call.data_type))


@function("ConvertTimezone", result=always(t.TimestampNTZType()))
def convert_timezone(call: Call, args: list[Value], length: int) -> Value:
    """Local time of one zone as local time of another."""
    local, valid = unpack(as_array(args[2], length))
    utc, _ = zoned_to_utc(local, as_array(args[0], length).fill_null("UTC"), "UTC")
    targets = as_array(args[1], length).fill_null("UTC")
    result = np.zeros(length, np.int64)
    for zone in pc.unique(targets).to_pylist():
        chosen = np.asarray(pc.equal(targets, zone), np.bool_)
        result[chosen] = utc_to_local(utc[chosen], zone)
    return build(result, valid, pa.timestamp("us"))
