"""Reading timestamps by a pattern: one regular expression takes the text apart, the rest goes by column.

Two letters or more mean exactly that many digits (years: four, or more after a plus sign); one letter
means any number of digits. A field that the pattern lacks has its value of 1970-01-01 00:00:00.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.cast_parse import integers, matches, pieces
from penstock.expr.functions.cast_parse_times import civil_days, zoned_to_utc
from penstock.expr.functions.cast_time_of_day import NANOS_PER_MICRO, TIME_OF_DAY, parsed_times
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND, to_local
from penstock.expr.functions.date_patterns import Field, date_pattern
from penstock.expr.functions.registry import ANSI, Value, function, when_ansi
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.time_fields import MONTH_NAMES
from penstock.expr.functions.vectors import (
    Mask,
    as_array,
    both,
    build,
    constant,
    fail_where,
    is_scalar,
    unpack,
    valid_mask,
)
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow
from penstock.expr.zones import local_to_utc

__all__: list[str] = []

Integers = npt.NDArray[np.int64]

_NUMERIC = frozenset("yMLdHhkKmsS")


@lru_cache(maxsize=256)
def _expression(pattern: str) -> str:
    """The regular expression of a pattern, with one group per letter."""
    parts, depth = ["(?i)^"], 0
    fields = date_pattern(pattern)
    seen: set[str] = set()
    for number, field in enumerate(fields):
        while depth != field.optional:
            parts.append("(?:" if depth < field.optional else ")?")
            depth += 1 if depth < field.optional else -1
        if field.letter in seen:
            raise UnsupportedQuery(f"the date pattern {pattern!r}", reason=f"{field.letter} stands twice")
        if field.letter:
            seen.add(field.letter)
        following = fields[number + 1] if number + 1 < len(fields) else Field("", 0)
        parts.append(_piece(field, following, pattern))
    return "".join([*parts, ")?" * depth, "$"])


def _piece(field: Field, following: Field, pattern: str) -> str:
    letter, count = field.letter, field.count
    if not letter:
        return re.escape(field.text)
    if letter in "XxZ":
        return rf"(?P<{letter}>Z|[+-]\d{{2}}(?::?\d{{2}}(?::?\d{{2}})?)?)"
    if letter == "a":
        return "(?P<a>AM|PM)"
    if letter in "ML" and count >= 3:
        names = [name if count == 4 else name[:3] for name in MONTH_NAMES]
        return f"(?P<{letter}>{'|'.join(names)})"
    if letter not in _NUMERIC:
        raise UnsupportedQuery(f"reading the date pattern {pattern!r}", reason=f"{letter} is not implemented")
    if letter == "S":
        return rf"(?P<S>\d{{1,{count}}})"
    if letter == "y" and count >= 3:
        return rf"(?P<{letter}>-?\d{{{count}}}|[+-]\d{{{count + 1},9}})"
    if count > 1:
        return rf"(?P<{letter}>\d{{{count}}})"
    if following.letter in _NUMERIC and following.letter:
        raise UnsupportedQuery(
            f"reading the date pattern {pattern!r}", reason=f"the width of {letter} is not clear"
        )
    return rf"(?P<{letter}>\d{{1,9}})"


def _parse(text: pa.Array, pattern: str, zone: str) -> tuple[Integers, Integers, Integers, Mask]:
    """Microseconds of UTC and of local time, nanoseconds behind them, and which texts could be read."""
    found = pc.extract_regex(text, _expression(pattern))
    parts = pieces(found)
    counts = {field.letter: field.count for field in date_pattern(pattern)}

    def number(letters: str, default: int) -> Integers:
        for letter in letters:
            if letter in parts:
                given = np.asarray(pc.not_equal(parts[letter].fill_null(""), ""), np.bool_)
                return np.where(given, integers(_unsigned(parts[letter], letter, counts[letter])), default)
        return np.full(len(text), default, np.int64)

    year = number("y", 1970)
    if counts.get("y") == 2:
        year = year + 2000
    days, good = civil_days(year, number("ML", 1), number("d", 1))
    hour, hours_good = _hour(number, parts)
    minute, second = number("m", 0), number("s", 0)
    good &= matches(found) & hours_good & (minute < 60) & (second < 60)
    micros, nanos = np.divmod(number("S", 0), 1_000)
    local = days * MICROS_PER_DAY + ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + micros
    zones = next((parts[letter] for letter in "XxZ" if letter in parts), None)
    local = np.where(good, local, 0)
    if zones is None:
        return local_to_utc(local, zone), local, nanos, good
    utc, known = zoned_to_utc(local, zones.fill_null(""), zone)
    return utc, local, nanos, good & known


def _unsigned(part: pa.Array, letter: str, count: int) -> pa.Array:
    """The digits of a part: names of months become numbers, fractions get all nine digits."""
    if letter == "S":
        return pc.utf8_slice_codeunits(pc.utf8_rpad(part, 9, "0"), 0, 9)
    if letter in "ML" and count >= 3:
        names = pa.array([(name if count == 4 else name[:3]).lower() for name in MONTH_NAMES])
        index = pc.index_in(pc.ascii_lower(part), value_set=names)
        return pc.add(index, pa.scalar(1, pa.int32())).cast(pa.string())
    return pc.utf8_ltrim(part, "+")


def _hour(number: Any, parts: Mapping[str, pa.Array]) -> tuple[Integers, Mask]:
    if "h" in parts or "K" in parts:
        twelve = number("hK", 0)
        good = (twelve >= 1) & (twelve <= 12) if "h" in parts else twelve < 12
        afternoon = np.zeros(len(twelve), np.bool_)
        if "a" in parts:
            afternoon = np.asarray(pc.equal(pc.ascii_upper(parts["a"].fill_null("")), "PM"), np.bool_)
        return twelve % 12 + 12 * afternoon, np.asarray(good)
    hour = number("Hk", 0)
    if "k" in parts:
        return hour % 24, np.asarray((hour >= 1) & (hour <= 24))
    return hour, np.asarray(hour < 24)


def _pattern_checked(args: Sequence[Expr]) -> None:
    pattern = literal_of(args[1], "to_timestamp", "pattern")
    if pattern is not None and isinstance(args[0].data_type, t.StringType):
        _expression(pattern)


def _get_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _pattern_checked(args)
    target = options["dataType"]
    assert isinstance(target, t.DataType)
    return target


def _checked(call: Call, args: list[Value], text: pa.Array, good: Mask) -> Mask | None:
    if call.option("mode") == ANSI:
        condition = "CANNOT_PARSE_TIMESTAMP"
        fail_where(~good, valid_mask(text), call, args, condition, "the text does not match the pattern")
    return both(valid_mask(text), good)


@function(
    "GetTimestamp",
    result=_get_type,
    options=("dataType",),
    moded=True,
    zoned=True,
    raises=when_ansi,
    nullable=True,
)
def get_timestamp(call: Call, args: list[Value], length: int) -> Value:
    """A text read by the pattern. A date or timestamp is not read but taken as it is: Spark hands on its
    microseconds, even where a local time becomes an instant by that or the other way round."""
    text = as_array(args[0], length)
    kind = call.args[0].data_type
    if not isinstance(kind, t.StringType):
        vector, known = _microseconds(text, kind, call.option("timezone"))
        return build(vector, known, to_arrow(call.data_type))
    pattern = constant(args[1]) if is_scalar(args[1]) else constant(args[1][0])
    utc, local, _, good = _parse(text, pattern, call.option("timezone"))
    valid = _checked(call, args, text, good)
    moments = utc if isinstance(call.data_type, t.TimestampType) else local
    return build(moments, valid, to_arrow(call.data_type))


def _time_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    pattern = _time_pattern(args, str(options["target"]))
    if pattern is not None:
        _expression(pattern)
    return t.TimeType(6)


def _time_pattern(args: Sequence[Expr], target: str) -> str | None:
    """The pattern of ``to_time``: the second argument, or what Catalyst has put into the parser itself. None
    is the grammar of casts."""
    if len(args) > 1:
        pattern = literal_of(args[1], "to_time", "pattern")
        return None if pattern is None else str(pattern)
    inside = target.removeprefix("ToTimeParser(").removesuffix(")")
    return None if inside == "None" else inside.removeprefix("Some(").removesuffix(")")


@function("ToTimeParser.parse", result=_time_type, options=("target",), raises=True)
def to_time(call: Call, args: list[Value], length: int) -> Value:
    """A text read by a pattern, or as a cast reads it, but with all its digits, although the type is TIME(6);
    what cannot be read is an error in every mode."""
    text = as_array(args[0], length)
    pattern = _time_pattern(call.args, call.option("target"))
    if pattern is None:
        nanos, good = parsed_times(text)
    else:
        _, local, rest, good = _parse(text, pattern, "UTC")
        nanos = local % MICROS_PER_DAY * NANOS_PER_MICRO + rest
    condition = "CANNOT_PARSE_TIME"
    fail_where(~good, valid_mask(text), call, args, condition, "the text does not match the pattern")
    return build(nanos, both(valid_mask(text), good), TIME_OF_DAY)


def _seconds(micros: Integers) -> Integers:
    """Whole seconds, cut off towards 1970."""
    return np.asarray((micros - np.fmod(micros, MICROS_PER_SECOND)) // MICROS_PER_SECOND)


def _microseconds(value: pa.Array, kind: t.DataType, zone: str) -> tuple[Integers, Mask | None]:
    """Those of a timestamp, and of the midnight with which a date begins."""
    vector, valid = unpack(value)
    if isinstance(kind, t.DateType):
        vector = local_to_utc(to_local(vector, kind, zone), zone)
    return vector, valid


def _unix_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _pattern_checked(args)
    return t.LongType()


@function(
    "UnixTimestamp",
    "ToUnixTimestamp",
    result=_unix_type,
    moded=True,
    zoned=True,
    raises=when_ansi,
    nullable=True,
)
def unix_timestamp(call: Call, args: list[Value], length: int) -> Value:
    """Whole seconds since 1970 of a date, a timestamp, or a text read by the pattern."""
    value = as_array(args[0], length)
    zone, kind = call.option("timezone"), call.args[0].data_type
    if isinstance(kind, t.StringType):
        pattern = constant(args[1]) if is_scalar(args[1]) else constant(args[1][0])
        utc, _, _, good = _parse(value, pattern, zone)
        return build(_seconds(utc), _checked(call, args, value, good), pa.int64())
    vector, valid = _microseconds(value, kind, zone)
    return build(_seconds(vector), valid, pa.int64())
