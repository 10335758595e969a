"""The tables of time zones against Python's own reading of the zone database."""

from __future__ import annotations

import datetime
import zoneinfo

import numpy as np
import pytest

from penstock.errors import UnsupportedQuery
from penstock.expr.zones import fixed_offset, is_zone, local_to_utc, offsets, resolve_local, utc_to_local

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICRO = datetime.timedelta(microseconds=1)


def _micros(text: str) -> int:
    return (datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC) - _EPOCH) // _MICRO


def test_every_zone_has_the_offsets_of_the_zone_database() -> None:
    rng = np.random.default_rng(5)
    for name in sorted(zoneinfo.available_timezones() - {"localtime"}):
        zone = zoneinfo.ZoneInfo(name)
        # From 1811 to 2603, which is beyond what zone files list and needs the rule at their end.
        moments = rng.integers(-5 * 10**15, 2 * 10**16, 12)
        expected = [
            (_EPOCH + datetime.timedelta(microseconds=int(moment))).astimezone(zone).utcoffset() // _MICRO
            for moment in moments
        ]
        assert offsets(moments, name).tolist() == expected, name


def test_a_skipped_hour_moves_forward_and_a_repeated_one_is_the_first() -> None:
    zone = "America/Los_Angeles"
    skipped, repeated = _micros("2024-03-10 02:30:00"), _micros("2024-11-03 01:30:00")
    utc = local_to_utc(np.array([skipped, repeated]), zone)
    assert utc.tolist() == [_micros("2024-03-10 10:30:00"), _micros("2024-11-03 08:30:00")]
    assert utc_to_local(utc, zone).tolist() == [_micros("2024-03-10 03:30:00"), repeated]


def test_a_repeated_hour_keeps_the_offset_that_is_preferred() -> None:
    repeated = np.array([_micros("2024-11-03 01:30:00")])
    winter = np.array([-8 * 3_600_000_000])
    assert resolve_local(repeated, "America/Los_Angeles", winter)[0] == _micros("2024-11-03 09:30:00")


@pytest.mark.parametrize(
    ("zone", "hours"), [("UTC", 0), ("Z", 0), ("+05:30", 5.5), ("-8", -8), ("GMT+2", 2), ("UTC-03:00", -3)]
)
def test_fixed_offsets_are_read(zone: str, hours: float) -> None:
    assert fixed_offset(zone) == int(hours * 3_600_000_000)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "+25:00", ""])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    assert not is_zone(zone)
    with pytest.raises(UnsupportedQuery):
        offsets(np.zeros(1, np.int64), zone)
