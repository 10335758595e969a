"""Local times to instants, by Java's rules, which are Spark's.

A local time that the clock skips in spring is moved forward by the length of the gap; one that occurs
twice in autumn is the earlier of the two. Arrow knows the second rule but not the first, so the offset in
force just before the gap is found through Arrow and applied by hand. All vectorised.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["arrow_zone", "localize"]

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


def arrow_zone(timezone: str) -> str:
    """A Spark session time zone in a spelling Arrow knows (``GMT+2`` is ``+02:00``, ``Z`` is ``UTC``)."""
    if timezone in ("Z", "UT"):
        return "UTC"
    match = _OFFSET.fullmatch(timezone)
    if match is None:
        return timezone
    sign, hours, minutes = match.groups()
    return f"{sign}{int(hours):02d}:{minutes or '00'}"


def localize(local: pa.Array, timezone: str) -> pa.Array:
    """Instants, as ``timestamp('us', 'UTC')``, of local times given as ``timestamp('us')``."""
    instants = pc.assume_timezone(local, arrow_zone(timezone), ambiguous="earliest", nonexistent="earliest")
    # In a gap, `instants` is the moment before it; elsewhere it is right and the offset gives it back.
    offset = pc.subtract(pc.local_timestamp(instants).cast(pa.int64()), instants.cast(pa.int64()))
    return pc.subtract(local.cast(pa.int64()), offset).cast(pa.timestamp("us", "UTC"))
