"""Casts to and from TIME, the time of day, which is a number of nanoseconds since midnight.

``TIME(p)`` shows p digits of a second, and a cast to fewer digits cuts the others off. Only a cast from TIME
to a timestamp is missing: Spark takes the current date for it, and a view must not depend on the day.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.cast_numbers import fits_integer
from penstock.expr.functions.cast_parse import SPACE, integers, matches, pieces
from penstock.expr.functions.cast_times import MICROS_PER_DAY, to_local
from penstock.expr.functions.conversion import INVALID_INPUT, OUT_OF_RANGE, OVERFLOW, Conversion
from penstock.expr.functions.vectors import Mask, build, unpack
from penstock.expr.types import to_arrow

__all__ = [
    "NANOS_PER_DAY",
    "NANOS_PER_MICRO",
    "NANOS_PER_SECOND",
    "TIME_OF_DAY",
    "cast_time_of_day",
    "cut",
    "parsed_times",
    "text_to_time_of_day",
    "time_of_day_to_number",
    "time_of_day_to_text",
    "timestamp_to_time_of_day",
]

NANOS_PER_MICRO = 1_000
NANOS_PER_SECOND = 1_000_000_000
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND
TIME_OF_DAY = pa.time64("ns")

_DIGITS = 9
_TEXT = (
    rf"^{SPACE}T?(?P<hour>\d{{1,2}}):(?P<minute>\d{{1,2}})(?::(?P<second>\d{{1,2}})"
    rf"(?:\.(?P<fraction>\d*))?)?(?:{SPACE}(?P<half>[aApP][mM]))?{SPACE}$"
)

Integers = npt.NDArray[np.int64]


def cut(nanos: Integers, precision: int) -> Integers:
    """The times with the digits behind the precision cut off."""
    return np.asarray(nanos - nanos % 10 ** (_DIGITS - precision))


def parsed_times(text: pa.Array) -> tuple[Integers, Mask]:
    """Nanoseconds since midnight of texts such as ``1:02``, ``T01:02:03.5`` and ``11:30 PM``, and which of
    the texts are times."""
    found = pc.extract_regex(text, _TEXT)
    parts = pieces(found)
    hour, minute, second = (integers(parts[name]) for name in ("hour", "minute", "second"))
    half = pc.ascii_lower(parts["half"].fill_null(""))
    afternoon, halved = np.asarray(pc.equal(half, "pm")), np.asarray(pc.not_equal(half, ""))
    good = matches(found) & (hour < 24) & (minute < 60) & (second < 60)
    good &= ~halved | ((hour >= 1) & (hour <= 12))
    hour = np.where(halved, hour % 12 + 12 * afternoon, hour)
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(parts["fraction"].fill_null(""), 0, _DIGITS), _DIGITS, "0")
    nanos = ((hour * 60 + minute) * 60 + second) * NANOS_PER_SECOND + integers(digits)
    return np.where(good, nanos, 0), good


def text_to_time_of_day(value: pa.Array, how: Conversion) -> pa.Array:
    """A text as a time; more digits than the type has are cut off."""
    assert isinstance(how.target, t.TimeType)
    nanos, good = parsed_times(value)
    result = build(cut(nanos, how.target.precision), good, TIME_OF_DAY)
    return how.resolve_failures(result, matches(value) & ~good, value, INVALID_INPUT)


def time_of_day_to_text(value: pa.Array) -> pa.Array:
    """``12:34:56.7``: zeros at the end of the fraction are left out."""
    text = value.cast(pa.string())  # always nine digits
    return pc.replace_substring_regex(text, r"\.?0*$", "")


def timestamp_to_time_of_day(value: pa.Array, how: Conversion) -> pa.Array:
    """The local time of day of a timestamp of either kind."""
    assert isinstance(how.target, t.TimeType)
    vector, valid = unpack(value)
    local = to_local(vector, how.source, how.zone)
    return build(cut(local % MICROS_PER_DAY * NANOS_PER_MICRO, how.target.precision), valid, TIME_OF_DAY)


def cast_time_of_day(value: pa.Array, how: Conversion) -> pa.Array:
    """To a TIME of another precision."""
    assert isinstance(how.target, t.TimeType)
    vector, valid = unpack(value)
    return build(cut(vector, how.target.precision), valid, TIME_OF_DAY)


def time_of_day_to_number(value: pa.Array, how: Conversion) -> pa.Array:
    """Seconds since midnight: whole ones for integers, rounded to the digits there are for decimals."""
    vector, valid = unpack(value)
    target = to_arrow(how.target)
    if isinstance(how.target, t.DecimalType):
        whole = build(vector, valid, pa.int64()).cast(pa.decimal128(19, 0))
        exact = decimals.relabel(whole, pa.decimal128(19, _DIGITS))
        fitted, bad = decimals.fit(exact, how.target.precision, how.target.scale)
        return fitted if bad is None else how.resolve_failures(fitted, bad, value, OUT_OF_RANGE)
    seconds = vector // NANOS_PER_SECOND
    result = build(seconds.astype(target.to_pandas_dtype()), valid, target)
    return how.resolve_failures(result, ~fits_integer(seconds, target), value, OVERFLOW)
