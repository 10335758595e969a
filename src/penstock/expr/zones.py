"""Time zones: between UTC and local time, with Java's rules for the hours that clocks skip or repeat.

A local time that clocks skip is moved forward by the length of the gap; a local time that happens twice
means the first one. Both follow from one rule: around a change of offset, the offset *before* it counts.
Cost: one binary search per value from UTC to local time, two and rarely four the other way.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from penstock.errors import UnsupportedQuery
from penstock.expr.zone_rules import zone_table

__all__ = [
    "fixed_offset",
    "is_zone",
    "local_to_utc",
    "local_to_utc_micros",
    "offsets",
    "resolve_local",
    "utc_to_local",
]

Micros = npt.NDArray[np.int64]

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_ZERO = frozenset({"UTC", "GMT", "UT", "Z", "Etc/UTC", "Etc/GMT", "GMT0", "Zulu"})
# The three-letter names Java gives a meaning of its own.
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AST": "America/Anchorage",
    "BST": "Asia/Dhaka",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EST": "-05:00",
    "HST": "-10:00",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MST": "-07:00",
    "NST": "Pacific/Auckland",
    "PST": "America/Los_Angeles",
}


def fixed_offset(zone: str) -> int | None:
    """The offset in microseconds of a zone that has only one, else None."""
    if zone in _ZERO:
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
    return seconds * _SECOND * (-1 if match[1] == "-" else 1) if seconds <= 18 * 3600 else None


def is_zone(zone: str) -> bool:
    """Whether there is such a zone."""
    try:
        offsets(np.zeros(1, np.int64), zone)
    except UnsupportedQuery:
        return False
    return True


def offsets(utc: Micros, zone: str) -> Micros:
    """The offset of local time from UTC at each moment, all in microseconds."""
    zone = _SHORT.get(zone, zone)
    fixed = fixed_offset(zone)
    if fixed is not None:
        return np.full(len(utc), fixed, np.int64)
    return zone_table(zone).offsets_at(utc // _SECOND) * _SECOND


def utc_to_local(utc: Micros, zone: str) -> Micros:
    """Microseconds of local time for microseconds of UTC."""
    return utc + offsets(utc, zone)


def local_to_utc(local: Micros, zone: str) -> Micros:
    """Microseconds of UTC for microseconds of local time."""
    # An offset is less than a day, so these two instants surround the one that is looked for.
    before, after = offsets(local - _DAY, zone), offsets(local + _DAY, zone)
    result = local - before
    changing = np.flatnonzero(before != after)
    if len(changing):
        early, late = result[changing], local[changing] - after[changing]
        valid_early = offsets(early, zone) == before[changing]
        valid_late = offsets(late, zone) == after[changing]
        result[changing] = np.where(~valid_early & valid_late, late, early)
    return result


def resolve_local(local: Micros, zone: str, preferred: Micros) -> Micros:
    """Like ``local_to_utc``, but a local time that happens twice keeps the offset it had before."""
    result = local - preferred
    moved = np.flatnonzero(offsets(result, zone) != preferred)
    if len(moved):
        result[moved] = local_to_utc(local[moved], zone)
    return result


def local_to_utc_micros(micros: int, zone: str) -> int:
    """The same for one value."""
    return int(local_to_utc(np.array([micros], np.int64), zone)[0])
