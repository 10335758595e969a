"""``time_bucket``: the beginning of the stretch of time that a timestamp lies in, counted from an origin.

Stretches of days and of months run on the calendar of the session's zone, so that a day begins at midnight on
both sides of a change of clocks; shorter ones run on the time line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.calendar import civil_from_days
from penstock.expr.functions.cast_times import MICROS_PER_DAY
from penstock.expr.functions.lists import Integers
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.timestamps import plus_months
from penstock.expr.functions.vectors import as_array, build, unpack
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow
from penstock.expr.zones import local_to_utc, utc_to_local

__all__: list[str] = []


def _type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    size = literal_of(args[0], "time_bucket", "size")
    mixed = size is not None and size > MICROS_PER_DAY and size % MICROS_PER_DAY
    if isinstance(args[0].data_type, t.DayTimeIntervalType) and mixed:
        raise UnsupportedQuery(
            "time_bucket of days and hours", advice="Use a whole number of days, or less than one"
        )
    literal_of(args[2], "time_bucket", "origin")
    return args[1].data_type


@function("TimeBucket", result=_type, zoned=True)
def time_bucket(call: Call, args: list[Value], length: int) -> Value:
    moments, valid = unpack(as_array(args[1], length))
    size, origin = (int(literal_of(arg, "time_bucket", "size")) for arg in (call.args[0], call.args[2]))
    months = isinstance(call.args[0].data_type, t.YearMonthIntervalType)
    zone = call.option("timezone") if isinstance(call.data_type, t.TimestampType) else "UTC"
    if not months and size < MICROS_PER_DAY:
        return build(moments - (moments - origin) % size, valid, to_arrow(call.data_type))
    local = utc_to_local(moments, zone)
    start = utc_to_local(np.array([origin], np.int64), zone)
    begins = _month_bucket(local, start, size) if months else local - (local - start) % size
    return build(local_to_utc(begins, zone), valid, to_arrow(call.data_type))


def _month_bucket(local: Integers, origin: Integers, size: int) -> Integers:
    """The last of the moments a multiple of ``size`` months after the origin that is not behind."""
    (year, month, _), (first_year, first_month, _) = (
        civil_from_days(side // MICROS_PER_DAY) for side in (local, origin)
    )
    passed = ((year - first_year) * 12 + month - first_month) // size
    start = np.broadcast_to(origin, local.shape)
    begins = plus_months(start, passed * size)
    return np.where(begins > local, plus_months(start, (passed - 1) * size), begins)
