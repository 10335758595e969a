"""The offsets of a time zone as a table, read from the system's zone database.

A zone file lists the moments at which the offset changed and ends with a rule for the years after the
last one (``PST8PDT,M3.2.0,M11.1.0``). The rule is written out for 400 years: the calendar repeats after
exactly that long, weekdays included, so later moments are looked up 400 years earlier. A table is read
once per zone and process; a lookup is a binary search.
"""

from __future__ import annotations

import importlib.resources
import re
import struct
import zoneinfo
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.errors import UnsupportedQuery

__all__ = ["ZoneTable", "zone_table"]

Seconds = npt.NDArray[np.int64]

_NAME = re.compile(r"[A-Za-z0-9_+\-]+(?:/[A-Za-z0-9_+\-]+)*")
_CYCLE = 146_097 * 86_400
_CYCLE_YEARS = 400
_POSIX = re.compile(
    r"(?P<std><[^>]+>|[A-Za-z]+)(?P<std_offset>[+-]?[\d:]+)"
    r"(?:(?P<dst><[^>]+>|[A-Za-z]+)(?P<dst_offset>[+-]?[\d:]+)?,(?P<start>[^,]+),(?P<end>[^,]+))?"
)


@dataclass(frozen=True, slots=True)
class ZoneTable:
    """``offsets[i]`` holds from ``changes[i - 1]`` until ``changes[i]``; all are seconds."""

    changes: Seconds
    offsets: Seconds
    repeats: bool

    def offsets_at(self, utc: Seconds) -> Seconds:
        """The offset from UTC at each moment."""
        if self.repeats:
            beyond = np.maximum(utc - self.changes[-1], 0)
            utc = utc - (beyond + _CYCLE - 1) // _CYCLE * _CYCLE
        return self.offsets[np.searchsorted(self.changes, utc, side="right")]


@cache
def zone_table(zone: str) -> ZoneTable:
    """The table of a region such as ``Europe/Paris``. Refuses a name that the database does not have."""
    data = _read(zone)
    if data is None or data[:4] != b"TZif":
        raise UnsupportedQuery(f"the time zone {zone}", reason="the system's zone database does not have it")
    changes, offsets, rule = _parse(data)
    if not rule:
        return ZoneTable(np.array(changes, np.int64), np.array(offsets, np.int64), False)
    later = _written_out(rule, changes[-1] if changes else -(2**40))
    for moment, offset in later:
        if offset != offsets[-1]:
            changes.append(moment)
            offsets.append(offset)
    return ZoneTable(np.array(changes, np.int64), np.array(offsets, np.int64), len(later) > 1)


def _read(zone: str) -> bytes | None:
    if not _NAME.fullmatch(zone):
        return None
    for folder in zoneinfo.TZPATH:
        path = Path(folder, zone)
        if path.is_file():
            return path.read_bytes()
    try:
        bundled = importlib.resources.files("tzdata").joinpath("zoneinfo", *zone.split("/"))
        return bundled.read_bytes() if bundled.is_file() else None
    except ModuleNotFoundError:
        return None


def _parse(data: bytes) -> tuple[list[int], list[int], str]:
    """Changes, offsets and the rule from a zone file (RFC 8536), whose second part has 64-bit times."""
    counts = struct.unpack(">6l", data[20:44])
    start = 44 + counts[3] * 5 + counts[4] * 6 + counts[5] + counts[2] * 8 + counts[1] + counts[0]
    header = data[start : start + 44]
    is_ut, is_std, leaps, times, types, chars = struct.unpack(">6l", header[20:44])
    place = start + 44
    moments = struct.unpack(f">{times}q", data[place : place + times * 8])
    place += times * 8
    kinds = data[place : place + times]
    place += times
    records = [struct.unpack(">lBB", data[place + 6 * i : place + 6 * i + 6]) for i in range(types)]
    place += types * 6 + chars + leaps * 12 + is_std + is_ut
    rule = data[place:].strip(b"\n").decode("ascii")
    # Moments before the calendar starts stand for "always"; the first type holds before the first change.
    known = [(moment, records[kind][0]) for moment, kind in zip(moments, kinds, strict=True)]
    offsets = [records[0][0], *(offset for _, offset in known)]
    return [moment for moment, _ in known], offsets, rule


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")] + [0, 0]
    return sign * (parts[0] * 3600 + parts[1] * 60 + parts[2])


def _written_out(rule: str, after: int) -> list[tuple[int, int]]:
    """The changes that a rule makes in the 400 years after a moment: (moment, offset from then on)."""
    match = _POSIX.fullmatch(rule)
    if match is None:
        raise UnsupportedQuery(f"the time zone rule {rule}", reason="its form is not known")
    standard = -_seconds(match["std_offset"])
    if match["dst"] is None:
        return [(after + 1, standard)]
    summer = -_seconds(match["dst_offset"]) if match["dst_offset"] else standard + 3600
    first = int(np.array(after, "M8[s]").astype("M8[Y]").astype(int)) + 1970
    changes = []
    for year in range(first, first + _CYCLE_YEARS + 1):
        changes.append((_moment(match["start"], year) - standard, summer))
        changes.append((_moment(match["end"], year) - summer, standard))
    return sorted(change for change in changes if after < change[0] <= after + _CYCLE)


def _moment(rule: str, year: int) -> int:
    """Seconds since 1970, in local time, of a day such as ``M3.2.0/2`` in a year."""
    day, _, time = rule.partition("/")
    new_year = int(np.datetime64(f"{year:04d}-01-01", "D").astype(int))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day.startswith("M"):
        month, week, weekday = (int(part) for part in day[1:].split("."))
        first = int(np.datetime64(f"{year:04d}-{month:02d}-01", "D").astype(int))
        # 1970-01-01 was a Thursday, the fourth day of a week that starts on Sunday.
        date = first + (weekday - (first + 4)) % 7 + (week - 1) * 7
        length = 29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
        date -= 7 if date >= first + length else 0
    elif day.startswith("J"):
        number = int(day[1:])
        date = new_year + number - 1 + (1 if leap and number >= 60 else 0)
    else:
        date = new_year + int(day)
    return date * 86_400 + _seconds(time or "2")
