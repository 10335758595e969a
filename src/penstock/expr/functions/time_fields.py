"""The parts of dates, timestamps and intervals: years, weeks, hours, and their names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.calendar import civil_from_days, day_of_week, days_from_civil, iso_week
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND, to_local
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import Mask, build, unpack
from penstock.expr.nodes import Call

__all__ = ["DAY_NAMES", "MONTH_NAMES"]

Integers = npt.NDArray[np.int64]

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_INTEGER = always(t.IntegerType())
_SECONDS = t.DecimalType(8, 6)


def _day_of_year(days: Integers) -> Integers:
    year, _, _ = civil_from_days(days)
    ones = np.ones_like(year)
    return days - days_from_civil(year, ones, ones) + 1


_DATE_FIELDS: dict[str, Callable[[Integers], Integers]] = {
    "Year": lambda days: civil_from_days(days)[0],
    "Quarter": lambda days: (civil_from_days(days)[1] + 2) // 3,
    "Month": lambda days: civil_from_days(days)[1],
    "DayOfMonth": lambda days: civil_from_days(days)[2],
    "DayOfYear": _day_of_year,
    "DayOfWeek": lambda days: (day_of_week(days) + 1) % 7 + 1,
    "WeekDay": day_of_week,
    "WeekOfYear": lambda days: iso_week(days)[1],
    "YearOfWeek": lambda days: iso_week(days)[0],
}


@function(*_DATE_FIELDS, result=_INTEGER)
def date_field(call: Call, args: list[Value], length: int) -> Value:
    days, valid = unpack(args[0])
    return build(_DATE_FIELDS[call.function](days.astype(np.int64)), valid, pa.int32())


@function("DayName", "MonthName", result=always(t.StringType()))
def name(call: Call, args: list[Value], length: int) -> Value:
    """The first three letters of the English name."""
    days, valid = unpack(args[0])
    by_day = call.function == "DayName"
    index = day_of_week(days) if by_day else civil_from_days(days)[1] - 1
    short = pa.array([one[:3] for one in (DAY_NAMES if by_day else MONTH_NAMES)])
    return short.take(pa.array(index, mask=None if valid is None else ~valid))


_CLOCK_FIELDS = {"Hour": (3_600, 24), "Minute": (60, 60), "Second": (1, 60)}


@function(*_CLOCK_FIELDS, result=_INTEGER, zoned=True)
def clock_field(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    local = to_local(vector, call.args[0].data_type, call.option("timezone"))
    unit, modulus = _CLOCK_FIELDS[call.function]
    return build(local // (unit * MICROS_PER_SECOND) % modulus, valid, pa.int32())


@function("SecondWithFraction", result=always(_SECONDS), zoned=True)
def second_with_fraction(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    local = to_local(vector, call.args[0].data_type, call.option("timezone"))
    return _six_digits(local % (60 * MICROS_PER_SECOND), valid)


def _six_digits(micros: Integers, valid: Mask | None) -> pa.Array:
    """Microseconds as decimal seconds."""
    whole = build(micros, valid, pa.int64()).cast(pa.decimal128(19, 0))
    return decimals.relabel(whole, pa.decimal128(_SECONDS.precision, _SECONDS.scale))


def _part(vector: Integers, unit: int, modulus: int) -> Integers:
    """A part of an interval; all parts of a negative interval are negative."""
    magnitude = np.abs(vector) // unit
    return np.asarray(np.sign(vector) * (magnitude % modulus if modulus else magnitude))


_INTERVAL_FIELDS: dict[str, tuple[int, int, t.DataType, pa.DataType]] = {
    "ExtractANSIIntervalYears": (12, 0, t.IntegerType(), pa.int32()),
    "ExtractANSIIntervalMonths": (1, 12, t.ByteType(), pa.int8()),
    "ExtractANSIIntervalDays": (MICROS_PER_DAY, 0, t.IntegerType(), pa.int32()),
    "ExtractANSIIntervalHours": (3_600 * MICROS_PER_SECOND, 24, t.ByteType(), pa.int8()),
    "ExtractANSIIntervalMinutes": (60 * MICROS_PER_SECOND, 60, t.ByteType(), pa.int8()),
}


def _declare_interval_field(class_name: str) -> None:
    unit, modulus, data_type, arrow_type = _INTERVAL_FIELDS[class_name]

    def kernel(call: Call, args: list[Value], length: int) -> Value:
        vector, valid = unpack(args[0])
        return build(_part(vector.astype(np.int64), unit, modulus), valid, arrow_type)

    function(class_name, result=always(data_type))(kernel)


for _name in _INTERVAL_FIELDS:
    _declare_interval_field(_name)


@function("ExtractANSIIntervalSeconds", result=always(_SECONDS))
def interval_seconds(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return _six_digits(_part(vector, 1, 60 * MICROS_PER_SECOND), valid)
