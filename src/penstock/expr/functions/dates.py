"""Arithmetic on dates: adding days and months, differences, first and last days."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.calendar import (
    add_months,
    civil_from_days,
    day_of_week,
    days_from_civil,
    days_in_month,
)
from penstock.expr.functions.cast_parse_times import civil_days
from penstock.expr.functions.cast_times import MICROS_PER_DAY
from penstock.expr.functions.registry import ANSI, Value, function, when_ansi
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import (
    Mask,
    as_array,
    both,
    build,
    constant,
    fail_where,
    is_scalar,
    map_distinct,
    unpack,
)
from penstock.expr.nodes import Call

__all__ = ["PERIODS", "truncate_days"]

Integers = npt.NDArray[np.int64]

_DATE = always(t.DateType())
_INTEGER = always(t.IntegerType())

PERIODS = {
    "YEAR": "year",
    "YYYY": "year",
    "YY": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "MON": "month",
    "MM": "month",
    "WEEK": "week",
}
"""The units to which both dates and timestamps can be cut."""


def _pair(args: list[Value]) -> tuple[Integers, Integers, Mask | None]:
    (left, left_valid), (right, right_valid) = unpack(args[0]), unpack(args[1])
    return left.astype(np.int64), right.astype(np.int64), both(left_valid, right_valid)


@function("DateAdd", "DateSub", result=_DATE)
def add_days(call: Call, args: list[Value], length: int) -> Value:
    """Beyond the range of 32 bits the date wraps around, as in Spark."""
    start, days, valid = _pair(args)
    total = start + days if call.function == "DateAdd" else start - days
    return build(total.astype(np.int32), valid, pa.date32())


@function("DateDiff", result=_INTEGER)
def difference(call: Call, args: list[Value], length: int) -> Value:
    end, start, valid = _pair(args)
    return build((end - start).astype(np.int32), valid, pa.int32())


@function("SubtractDates", result=always(t.DayTimeIntervalType(0, 0)), options=("legacyInterval",))
def difference_as_interval(call: Call, args: list[Value], length: int) -> Value:
    end, start, valid = _pair(args)
    return build((end - start) * MICROS_PER_DAY, valid, pa.duration("us"))


@function("AddMonths", "DateAddYMInterval", result=_DATE, raises=True)
def months_later(call: Call, args: list[Value], length: int) -> Value:
    start, months, valid = _pair(args)
    days = add_months(start, months)
    bad = (days < -(2**31)) | (days >= 2**31)
    fail_where(bad, valid, call, args, "ARITHMETIC_OVERFLOW", "the date is out of range")
    return build(np.where(bad, 0, days).astype(np.int32), valid, pa.date32())


@function("LastDay", result=_DATE)
def last_day(call: Call, args: list[Value], length: int) -> Value:
    days, valid = unpack(args[0])
    year, month, day = civil_from_days(days)
    return build((days - day + days_in_month(year, month)).astype(np.int32), valid, pa.date32())


_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "MO MON MONDAY",
            "TU TUE TUESDAY",
            "WE WED WEDNESDAY",
            "TH THU THURSDAY",
            "FR FRI FRIDAY",
            "SA SAT SATURDAY",
            "SU SUN SUNDAY",
        )
    )
    for name in names.split()
}


@function("NextDay", result=_DATE, moded=True, raises=when_ansi, nullable=True)
def next_day(call: Call, args: list[Value], length: int) -> Value:
    """The first such weekday after the date."""
    weekdays = map_distinct(lambda name: _WEEKDAYS.get(name.strip().upper()), args[1:], length, pa.int32())
    if call.option("mode") == ANSI:
        given = np.asarray(pc.is_valid(as_array(args[1], length)), np.bool_)
        unknown = np.asarray(pc.is_null(weekdays), np.bool_) & given
        fail_where(unknown, None, call, args, "ILLEGAL_DAY_OF_WEEK", "there is no such day of the week")
    days, wanted, valid = _pair([args[0], weekdays])
    distance = (wanted - day_of_week(days) - 1) % 7 + 1
    return build((days + distance).astype(np.int32), valid, pa.date32())


def truncate_days(days: Integers, period: str) -> Integers:
    """The first day of the week, month, quarter or year."""
    if period == "week":
        return days - day_of_week(days)
    year, month, day = civil_from_days(days)
    if period == "month":
        return days - day + 1
    first = (month - 1) // 3 * 3 + 1 if period == "quarter" else np.ones_like(month)
    return days_from_civil(year, first, np.ones_like(first))


@function("TruncDate", result=_DATE, nullable=True)
def truncate(call: Call, args: list[Value], length: int) -> Value:
    """An unknown unit gives NULL."""
    days, valid = unpack(as_array(args[0], length))
    days = days.astype(np.int64)
    units = [constant(args[1])] if is_scalar(args[1]) else pc.unique(args[1]).to_pylist()
    result = pa.nulls(length, pa.date32())
    for unit in units:
        period = PERIODS.get((unit or "").upper())
        if period is not None:
            part = build(truncate_days(days, period).astype(np.int32), valid, pa.date32())
            chosen = pa.scalar(True) if is_scalar(args[1]) else pc.equal(args[1], unit).fill_null(False)
            result = pc.if_else(chosen, part, result)
    return result


@function("MakeDate", result=_DATE, moded=True, raises=when_ansi, nullable=True)
def make_date(call: Call, args: list[Value], length: int) -> Value:
    parts = [unpack(as_array(arg, length)) for arg in args]
    (year, month, day), valid = (
        (part.astype(np.int64) for part, _ in parts),
        both(*(mask for _, mask in parts)),
    )
    days, exists = civil_days(year, month, day)
    exists &= (days >= -(2**31)) & (days < 2**31)
    if call.option("mode") == ANSI:
        condition = "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"
        fail_where(~exists, valid, call, args, condition, "there is no such date")
    return build(np.where(exists, days, 0).astype(np.int32), both(valid, exists), pa.date32())


@function("UnixDate", result=_INTEGER)
def unix_date(call: Call, args: list[Value], length: int) -> Value:
    days, valid = unpack(args[0])
    return build(days, valid, pa.int32())


@function("DateFromUnixDate", result=_DATE)
def date_from_unix_date(call: Call, args: list[Value], length: int) -> Value:
    days, valid = unpack(args[0])
    return build(days, valid, pa.date32())
