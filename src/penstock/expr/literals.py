"""The values of literals, read back from the text that ``TreeNode.toJSON`` prints.

Catalyst prints a literal's value for people. Most types survive that; a binary value prints as the address
of an array and a nested one as text that cannot be read back, so ``live`` replaces both, and timestamps,
which print as local time of the session's zone: in the hour that happens twice when clocks go back, the
text does not say which of the two it is.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from typing import Any

from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.zones import local_to_utc_micros

__all__ = ["calendar_interval", "literal_value"]

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)")
_TIMESTAMP = re.compile(r"([+-]?\d{4,}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_AMOUNT = re.compile(r"(-?[\d.]+) (year|month|day|hour|minute|second)s")
_MONTHS = {"year": 12, "month": 1}
_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def literal_value(text: Any, data_type: t.DataType, timezone: str) -> Any:
    """The plain Python value that Arrow takes for this type, or None for NULL."""
    if text is None or isinstance(data_type, t.NullType):
        return None
    if isinstance(data_type, t.StringType):
        return text
    if isinstance(data_type, t.BooleanType):
        return text == "true"
    if isinstance(data_type, t.IntegralType):
        return int(text)
    if isinstance(data_type, (t.DoubleType, t.FloatType)):
        return _WORDS[text] if text in _WORDS else float(text)
    if isinstance(data_type, t.DecimalType):
        return decimal.Decimal(text)
    if isinstance(data_type, t.DateType):
        return _date(text)
    if isinstance(data_type, (t.TimestampType, t.TimestampNTZType)):
        return _timestamp(text, data_type, timezone)
    if isinstance(data_type, t.TimeType):
        return _time_of_day(text)
    if isinstance(data_type, t.YearMonthIntervalType):
        return int(text)
    if isinstance(data_type, t.DayTimeIntervalType):
        return int(text)
    if isinstance(data_type, (t.ArrayType, t.StructType, t.MapType)) and not isinstance(text, str):
        return _nested(text, data_type, timezone)
    if isinstance(data_type, t.BinaryType) and text.startswith("0x"):
        return bytes.fromhex(text[2:])
    raise UnsupportedQuery(f"a literal of type {data_type.simpleString()}", place=str(text))


def calendar_interval(text: str) -> tuple[int, int, int]:
    """The months, days and microseconds of an interval as Catalyst prints it: ``1 months 0.5 seconds``. Each
    is added by itself: a day may have 23 hours."""
    months = days = micros = 0
    for amount, unit in _AMOUNT.findall(text):
        if unit in _MONTHS:
            months += int(amount) * _MONTHS[unit]
        elif unit == "day":
            days += int(amount)
        else:
            micros += int(decimal.Decimal(amount) * _MICROS[unit])
    return months, days, micros


def _nested(value: Any, data_type: t.DataType, timezone: str) -> tuple[Any, ...]:
    """Nested values as tuples, which Arrow takes and which can be hashed."""
    if isinstance(data_type, t.ArrayType):
        return tuple(literal_value(item, data_type.elementType, timezone) for item in value)
    if isinstance(data_type, t.StructType):
        pairs = zip(value, data_type.fields, strict=True)
        return tuple(literal_value(item, field.dataType, timezone) for item, field in pairs)
    assert isinstance(data_type, t.MapType)
    return tuple(
        (literal_value(key, data_type.keyType, timezone), literal_value(item, data_type.valueType, timezone))
        for key, item in value
    )


def _days(text: str) -> int:
    match = _DATE.fullmatch(text)
    if match is None:
        raise UnsupportedQuery(f"the date literal {text}")
    return days_from_civil(int(match[1]), int(match[2]), int(match[3]))


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, for any year."""
    cycles, rest = divmod(year - 1, 400)
    return datetime.date(rest + 1, month, day).toordinal() + cycles * 146097 - _EPOCH


def _date(text: str) -> datetime.date | int:
    # Inside of nested literals dates are plain numbers of days.
    days = int(text) if re.fullmatch(r"-?\d+", text) else _days(text)
    ordinal = days + _EPOCH
    # Python's calendar has the years 1 to 9999; Arrow also takes plain numbers.
    return datetime.date.fromordinal(ordinal) if 0 < ordinal <= datetime.date.max.toordinal() else days


def _timestamp(text: str, data_type: t.DataType, timezone: str) -> int:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise UnsupportedQuery(f"the timestamp literal {text}")
    seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4])
    fraction = int((match[5] or "").ljust(6, "0"))
    micros = (_days(match[1]) * 86400 + seconds) * 1_000_000 + fraction
    return micros if isinstance(data_type, t.TimestampNTZType) else local_to_utc_micros(micros, timezone)


def _time_of_day(text: str) -> int:
    """Nanoseconds since midnight; ``datetime.time`` ends at microseconds."""
    if text.isdigit():  # inside nested literals and IN lists
        return int(text)
    match = _TIME.fullmatch(text)
    if match is None:
        raise UnsupportedQuery(f"the time literal {text}")
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    return seconds * 1_000_000_000 + int((match[4] or "").ljust(9, "0"))
