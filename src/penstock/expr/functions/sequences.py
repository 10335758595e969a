"""``sequence``: an array of numbers, dates or timestamps from a start to a stop, both included.

Numbers and moments a fixed time apart are an arithmetic progression. Steps of days and months run on the
calendar of the session's zone: each element is the start plus a multiple of the step, never the element
before plus the step, so the 31st of January goes to the 29th of February and to the 31st of March.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import types as t

from penstock.expr.functions.cast_times import MICROS_PER_DAY
from penstock.expr.functions.lists import Integers, relist, spread
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.timestamps import on_calendar, plus_months
from penstock.expr.functions.vectors import Mask, as_array, both, build, fail_where, unpack
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow
from penstock.expr.zones import local_to_utc, utc_to_local

__all__: list[str] = []

_SHORTEST_MONTH = 28 * MICROS_PER_DAY
_BOUNDARIES = "ILLEGAL_SEQUENCE_BOUNDARIES"


def _sequence_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.ArrayType(args[0].data_type, False)


@function("Sequence", result=_sequence_type, zoned=True, raises=True)
def sequence(call: Call, args: list[Value], length: int) -> Value:
    """Without a step it is one, or one day, in the direction of the stop."""
    parts = [unpack(as_array(arg, length)) for arg in args]
    start, stop = (part.astype(np.int64) for part, _ in parts[:2])
    valid = both(*(mask for _, mask in parts))
    kind = call.args[0].data_type
    if len(args) > 2:
        step, step_type = parts[2][0].astype(np.int64), call.args[2].data_type
    else:
        timestamps = isinstance(kind, (t.TimestampType, t.TimestampNTZType))
        step = np.where(start <= stop, 1, -1) * (MICROS_PER_DAY if timestamps else 1)
        step_type = t.DayTimeIntervalType() if timestamps else kind
    if isinstance(kind, t.DateType) and isinstance(step_type, t.DayTimeIntervalType):
        short = np.abs(step) < MICROS_PER_DAY
        fail_where(short, valid, call, args, _BOUNDARIES, "the step between dates is less than a day")
        if not np.fmod(step, MICROS_PER_DAY).any():
            step, step_type = step // MICROS_PER_DAY, kind
    on_line = isinstance(step_type, t.DayTimeIntervalType) and bool((np.abs(step) < MICROS_PER_DAY).all())
    if on_line or not isinstance(step_type, (t.DayTimeIntervalType, t.YearMonthIntervalType)):
        lengths = _lengths(call, args, start, stop, step, valid)
        parents, index = spread(lengths)
        values = start[parents] + index * step[parents]
    else:
        values, lengths = _on_the_calendar(call, args, start, stop, step, valid)
    element = to_arrow(kind)
    return relist(build(values, None, element), lengths, valid, call.data_type)


def _lengths(
    call: Call, args: list[Value], start: Integers, stop: Integers, step: Integers, valid: Mask | None
) -> Integers:
    """How many elements there are; an error where the step leads away from the stop."""
    good = np.where(step == 0, start == stop, np.where(step > 0, start <= stop, start >= stop))
    fail_where(~good, valid, call, args, _BOUNDARIES, "the step does not lead from the start to the stop")
    usable = good if valid is None else good & valid
    # Differences of extreme numbers do not fit 64 bits with a sign; without one they do.
    distance = np.where(step > 0, stop - start, start - stop).view(np.uint64)
    pace = np.maximum(np.abs(step), 1).view(np.uint64)
    steps = np.minimum(distance // pace, np.uint64(2**62)).astype(np.int64)
    return np.where(usable, steps + 1, 0)


def _on_the_calendar(
    call: Call, args: list[Value], start: Integers, stop: Integers, step: Integers, valid: Mask | None
) -> tuple[Integers, Integers]:
    kind, zone = call.args[0].data_type, call.option("timezone")
    dates = isinstance(kind, t.DateType)
    months = len(args) > 2 and isinstance(call.args[2].data_type, t.YearMonthIntervalType)
    if dates:
        start, stop = (local_to_utc(side * MICROS_PER_DAY, zone) for side in (start, stop))
        kind = t.TimestampType()
    # Months of 28 days, and two more elements because clocks change: never too few, and those behind the
    # stop are dropped.
    bound = _lengths(call, args, start, stop, step * _SHORTEST_MONTH if months else step, valid)
    parents, index = spread(np.where((bound > 0) & (step != 0), bound + 2, bound))
    amount = index * step[parents]
    if months:
        moments = on_calendar(start[parents], kind, zone, lambda local: plus_months(local, amount))
    else:
        clock = index * np.fmod(step, MICROS_PER_DAY)[parents]
        moments = on_calendar(start[parents], kind, zone, lambda local: local + (amount - clock)) + clock
    rising = step[parents] > 0
    inside = np.where(rising, moments <= stop[parents], moments >= stop[parents])
    lengths = np.bincount(parents[inside], minlength=len(start))
    kept = moments[inside]
    return (utc_to_local(kept, zone) // MICROS_PER_DAY if dates else kept), lengths
