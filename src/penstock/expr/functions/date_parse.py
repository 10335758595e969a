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


def _parse(text: pa.Array, pattern: str, zone: str) -> tuple[Integers, Integers, Mask]:
    """Microseconds of UTC and of local time, and which texts could be read."""
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
    micros = number("S", 0)
    local = days * MICROS_PER_DAY + ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + micros
    zones = next((parts[letter] for letter in "XxZ" if letter in parts), None)
    local = np.where(good, local, 0)
    if zones is None:
        return local_to_utc(local, zone), local, good
    utc, known = zoned_to_utc(local, zones.fill_null(""), zone)
    return utc, local, good & known


def _unsigned(part: pa.Array, letter: str, count: int) -> pa.Array:
    """The digits of a part: names of months become numbers, fractions get all six digits."""
    if letter == "S":
        return pc.utf8_slice_codeunits(pc.utf8_rpad(part, 6, "0"), 0, 6)
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


def _settled(call: Call, args: list[Value], text: pa.Array, good: Mask) -> Mask | None:
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
    text = as_array(args[0], length)
    pattern = constant(args[1]) if is_scalar(args[1]) else constant(args[1][0])
    utc, local, good = _parse(text, pattern, call.option("timezone"))
    valid = _settled(call, args, text, good)
    moments = utc if isinstance(call.data_type, t.TimestampType) else local
    return build(moments, valid, to_arrow(call.data_type))


def _seconds(micros: Integers) -> Integers:
    """Whole seconds, cut off towards 1970."""
    return np.asarray((micros - np.fmod(micros, MICROS_PER_SECOND)) // MICROS_PER_SECOND)


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
        utc, _, good = _parse(value, pattern, zone)
        return build(_seconds(utc), _settled(call, args, value, good), pa.int64())
    vector, valid = unpack(value)
    if isinstance(kind, t.DateType):
        vector = local_to_utc(to_local(vector, kind, zone), zone)
    return build(_seconds(vector), valid, pa.int64())
