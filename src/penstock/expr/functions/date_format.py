"""Printing timestamps by a pattern: each field is printed for the whole column, then all are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.calendar import civil_from_days, day_of_week, days_from_civil
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND
from penstock.expr.functions.date_patterns import Field, date_pattern
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.time_fields import DAY_NAMES, MONTH_NAMES
from penstock.expr.functions.vectors import as_array, build, constant, is_scalar, unpack
from penstock.expr.nodes import Call, Expr
from penstock.expr.zones import offsets

__all__ = ["format_moments"]

Integers = npt.NDArray[np.int64]

_CLOCK = "HhkKmsSa"


class _Moments:
    """Timestamps in a zone, with the parts that patterns ask for."""

    def __init__(self, utc: Integers, zone: str, nanos: Integers | None = None) -> None:
        self.zone = zone
        self.nanos = np.zeros_like(utc) if nanos is None else nanos  # behind the last microsecond
        self.offset = offsets(utc, zone)
        self.days, self.micros = np.divmod(utc + self.offset, MICROS_PER_DAY)
        self.year, self.month, self.day = civil_from_days(self.days)
        self.seconds = self.micros // MICROS_PER_SECOND
        self.hour = self.seconds // 3600

    def number(self, letter: str) -> Integers:
        """The value of a numeric field."""
        simple: dict[str, Callable[[], Integers]] = {
            "y": lambda: np.where(self.year > 0, self.year, 1 - self.year),
            "u": lambda: self.year,
            "M": lambda: self.month,
            "L": lambda: self.month,
            "d": lambda: self.day,
            "D": lambda: (
                self.days - days_from_civil(self.year, np.ones_like(self.year), np.ones_like(self.year)) + 1
            ),
            "Q": lambda: (self.month + 2) // 3,
            "q": lambda: (self.month + 2) // 3,
            "H": lambda: self.hour,
            "k": lambda: (self.hour + 23) % 24 + 1,
            "K": lambda: self.hour % 12,
            "h": lambda: (self.hour + 11) % 12 + 1,
            "m": lambda: self.seconds // 60 % 60,
            "s": lambda: self.seconds % 60,
        }
        return np.asarray(simple[letter]())


def _digits(numbers: Integers, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _names(names: Sequence[str], index: Integers) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(index))


def _printed(field: Field, moments: _Moments) -> Value:
    letter, count = field.letter, field.count
    if not letter:
        return pa.scalar(field.text)
    if letter == "G":
        return _names(["BC", "AD"], (moments.year > 0).astype(np.int64))
    if letter == "a":
        return _names(["AM", "PM"], moments.hour // 12)
    if letter == "E":
        names = [name if count == 4 else name[:3] for name in DAY_NAMES]
        return _names(names, day_of_week(moments.days))
    if letter in "ML" and count >= 3:
        return _names([name if count == 4 else name[:3] for name in MONTH_NAMES], moments.month - 1)
    if letter in "Qq" and count >= 3:
        quarters = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"]
        return _names(quarters if count == 4 else ["Q1", "Q2", "Q3", "Q4"], moments.number("Q") - 1)
    if letter == "S":
        return pc.utf8_slice_codeunits(
            _digits(moments.micros % MICROS_PER_SECOND * 1000 + moments.nanos, 9), 0, count
        )
    if letter in "yu":
        return _year(moments.number(letter), count)
    if letter in "XxZOV":
        return _zone(letter, count, moments)
    return _digits(moments.number(letter), count)


def _year(years: Integers, count: int) -> pa.Array:
    if count == 2:
        return _digits(years % 100, 2)
    text = _digits(np.abs(years), count)
    sign = np.where(years < 0, 1, np.where((years >= 10**count) & (count >= 4), 2, 0))
    return pc.binary_join_element_wise(_names(["", "-", "+"], sign), text, "")


def _zone(letter: str, count: int, moments: _Moments) -> Value:
    """There are few distinct offsets in a column, so each is printed once."""
    if letter == "V":
        return pa.scalar(moments.zone)
    distinct, index = np.unique(moments.offset // MICROS_PER_SECOND, return_inverse=True)
    return _names([_print_offset(int(offset), letter, count) for offset in distinct], index)


def _print_offset(offset: int, letter: str, count: int) -> str:
    hours, minutes, seconds = abs(offset) // 3600, abs(offset) // 60 % 60, abs(offset) % 60
    sign = "-" if offset < 0 else "+"
    if letter == "O" or (letter == "Z" and count == 4):
        short = f"{hours}" if letter == "O" else f"{hours:02d}"
        tail = f":{minutes:02d}" if letter == "Z" or minutes or seconds else ""
        tail += f":{seconds:02d}" if seconds else ""
        return "GMT" if offset == 0 else f"GMT{sign}{short}{tail}"
    if offset == 0 and (letter == "X" or (letter == "Z" and count == 5)):
        return "Z"
    if letter == "Z":
        count = 5 if count == 5 else 2
    colon = ":" if count in (3, 5) else ""
    text = f"{sign}{hours:02d}"
    if count > 1 or minutes:
        text += f"{colon}{minutes:02d}"
    return text + (f"{colon}{seconds:02d}" if count > 3 and seconds else "")


def format_moments(utc: Integers, pattern: str, zone: str) -> pa.Array:
    """The timestamps printed by the pattern. What prints no fractions is printed once for each second:
    events that come together have few of those. (Offsets are whole seconds, though not whole minutes.)"""
    fields = date_pattern(pattern)
    if any(field.letter == "S" for field in fields):
        return _format_each(utc, fields, zone)
    seconds = pa.array(utc // MICROS_PER_SECOND).dictionary_encode()
    distinct = seconds.dictionary.to_numpy() * MICROS_PER_SECOND
    return _format_each(distinct, fields, zone).take(seconds.indices)


def _format_each(
    utc: Integers, fields: Sequence[Field], zone: str, nanos: Integers | None = None
) -> pa.Array:
    moments = _Moments(utc, zone, nanos)
    if not any(field.letter == "G" for field in fields):
        # Without an era beside it, Spark takes the year of the era for the plain year.
        fields = tuple(replace(field, letter="u") if field.letter == "y" else field for field in fields)
    parts = [as_array(_printed(field, moments), len(utc)) for field in fields]
    return pc.binary_join_element_wise(pa.repeat("", len(utc)), *parts, "")


def _format_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    pattern = literal_of(args[1], "date_format", "pattern")
    if pattern is None:
        return t.StringType()
    others = sorted({field.letter for field in date_pattern(pattern)} - {"", *_CLOCK})
    if others and isinstance(args[0].data_type, t.TimeType):
        reason = f"a time of day has no {', '.join(others)}"
        raise UnsupportedQuery(f"the pattern {pattern!r} for TIME", reason=reason)
    return t.StringType()


@function("DateFormatClass", "FromUnixTime", result=_format_type, zoned=True)
def date_format(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(as_array(args[0], length))
    pattern = constant(args[1]) if is_scalar(args[1]) else constant(args[1][0])
    zone = call.option("timezone")
    if call.function == "FromUnixTime":
        vector = vector * MICROS_PER_SECOND
    elif isinstance(call.args[0].data_type, t.TimestampNTZType):
        zone = "UTC"
    if isinstance(call.args[0].data_type, t.TimeType):
        micros, nanos = np.divmod(vector, 1_000)
        text = _format_each(micros, date_pattern(pattern), "UTC", nanos)
    else:
        text = format_moments(vector, pattern, zone)
    return (
        text
        if valid is None
        else pc.if_else(build(valid, None, pa.bool_()), text, pa.scalar(None, pa.string()))
    )
