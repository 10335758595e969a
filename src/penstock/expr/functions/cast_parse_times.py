"""Casts from text to dates and timestamps.

Spark's grammar allows one or two digits for every part but the year, and leaves parts out from the right:
``2024``, ``2024-3``, ``2024-3-9``, ``2024-3-9 1:30``, ``2024-03-09T01:30:00.5+02:00``. A time without
a date means today in Spark; here it is refused as invalid, because a view must not depend on the day.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.calendar import days_from_civil, days_in_month
from penstock.expr.functions.cast_parse import SPACE, integers, matches, pieces
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND
from penstock.expr.functions.conversion import INVALID_INPUT, Conversion
from penstock.expr.functions.vectors import Mask, build
from penstock.expr.types import to_arrow
from penstock.expr.zones import is_zone, local_to_utc

__all__ = ["civil_days", "text_to_date", "text_to_timestamp", "zoned_to_utc"]

_DATE = (
    rf"^{SPACE}(?P<sign>[+-]?)(?P<year>\d{{4,7}})"
    rf"(?:-(?P<month>\d{{1,2}})(?:-(?P<day>\d{{1,2}})(?:[ T](?s:.*))?)?)?{SPACE}$"
)
_TIMESTAMP = (
    rf"^{SPACE}(?P<sign>[+-]?)(?P<year>\d{{4,6}})(?:-(?P<month>\d{{1,2}})(?:-(?P<day>\d{{1,2}})"
    r"(?:[ T](?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
    rf"(?:\.(?P<fraction>\d*))?(?P<zone>[^0-9.](?s:.*?))?)?)?)?)?)?{SPACE}$"
)

Integers = npt.NDArray[np.int64]


def civil_days(year: Integers, month: Integers, day: Integers) -> tuple[Integers, Mask]:
    """Days since 1970 and which of the dates exist."""
    exists = (month >= 1) & (month <= 12) & (day >= 1)
    safe_month = np.where(exists, month, 1)
    exists &= day <= days_in_month(year, safe_month)
    return days_from_civil(year, safe_month, np.where(exists, day, 1)), exists


def _date_parts(parts: dict[str, pa.Array]) -> tuple[Integers, Mask]:
    year = integers(parts["year"])
    year = np.where(np.asarray(pc.equal(parts["sign"].fill_null(""), "-")), -year, year)
    given_month = np.asarray(pc.not_equal(parts["month"].fill_null(""), ""))
    given_day = np.asarray(pc.not_equal(parts["day"].fill_null(""), ""))
    month = np.where(given_month, integers(parts["month"]), 1)
    day = np.where(given_day, integers(parts["day"]), 1)
    return civil_days(year, month, day)


def text_to_date(value: pa.Array, how: Conversion) -> pa.Array:
    """A date; what follows it after a blank or a T is ignored."""
    found = pc.extract_regex(value, _DATE)
    days, exists = _date_parts(pieces(found))
    good = matches(found) & exists & (days >= -(2**31)) & (days < 2**31)
    result = build(np.where(good, days, 0).astype(np.int32), good, pa.date32())
    return how.resolve_failures(result, matches(value) & ~good, value, INVALID_INPUT)


def text_to_timestamp(value: pa.Array, how: Conversion) -> pa.Array:
    """A timestamp of either kind. Without a zone in the text it is local time of the session."""
    found = pc.extract_regex(value, _TIMESTAMP)
    parts = pieces(found)
    days, good = _date_parts(parts)
    good &= matches(found)
    hour, minute, second = (integers(parts[name]) for name in ("hour", "minute", "second"))
    good &= (hour < 24) & (minute < 60) & (second < 60)
    digits = pc.utf8_rpad(pc.utf8_slice_codeunits(parts["fraction"].fill_null(""), 0, 6), 6, "0")
    micros = ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + integers(digits)
    good &= _in_range(days, micros)
    local = np.where(good, days, 0) * MICROS_PER_DAY + micros
    zones = pc.utf8_trim_whitespace(parts["zone"].fill_null(""))
    result, known = zoned_to_utc(local, zones, how.zone)
    if not isinstance(how.target, t.TimestampType):
        result = local
    # Near the ends of time the offset may lead out of 64 bits.
    good &= known & (((local >= 0) == (result >= 0)) | (np.abs(local) < 2**62))
    array = build(np.where(good, result, 0), good, to_arrow(how.target))
    return how.resolve_failures(array, matches(value) & ~good, value, INVALID_INPUT)


def _in_range(days: Integers, micros: Integers) -> Mask:
    """Which sums of days and microseconds fit 64 bits."""
    last, rest = divmod(2**63 - 1, MICROS_PER_DAY)
    first, start = divmod(-(2**63), MICROS_PER_DAY)
    low = (days > first) | ((days == first) & (micros >= start))
    return np.asarray(low & ((days < last) | ((days == last) & (micros <= rest))))


def zoned_to_utc(local: Integers, zones: pa.Array, default: str) -> tuple[Integers, Mask]:
    """Local times in the zone beside each (or the default where that is empty), and which zones exist."""
    encoded = pc.dictionary_encode(zones)
    codes = np.asarray(encoded.indices)
    known = np.ones(len(local), np.bool_)
    result = np.zeros(len(local), np.int64)
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        chosen = codes == code
        zone = _normal_zone(name) if name else default
        if zone is None:
            known[chosen] = False
        else:
            result[chosen] = local_to_utc(local[chosen], zone)
    return result, known


def _normal_zone(name: str) -> str | None:
    """Spark lets the digits of an offset be single: ``+1:5`` is ``+01:05``."""
    zone = re.sub(r"(\+|\-)(\d):", r"\g<1>0\g<2>:", name)
    zone = re.sub(r"(\+|\-)(\d\d):(\d)$", r"\1\2:0\3", zone)
    return zone if is_zone(zone) else None
