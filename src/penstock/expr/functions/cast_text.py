"""Casts to text, in the forms Java and Spark print.

Numbers, dates and timestamps in the usual range are printed by Arrow and adjusted by column; what prints
differently (scientific notation, years outside 0 to 9999) is printed once per distinct value.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.calendar import civil_from_days
from penstock.expr.functions.cast_time_of_day import time_of_day_to_text
from penstock.expr.functions.cast_times import MICROS_PER_DAY, MICROS_PER_SECOND, to_local
from penstock.expr.functions.conversion import Conversion
from penstock.expr.functions.float_text import float_to_text
from penstock.expr.functions.vectors import Mask, build, map_distinct, unpack

__all__ = ["to_text"]


def to_text(value: pa.Array, how: Conversion) -> pa.Array:
    """Any value that is not nested as Spark prints it."""
    source = how.source
    if isinstance(source, t.BinaryType):
        return pa.Array.from_buffers(pa.string(), len(value), value.buffers(), value.null_count, value.offset)
    if isinstance(source, (t.DoubleType, t.FloatType)):
        return float_to_text(value, shortest=how.shortest)
    if isinstance(source, t.DecimalType):
        return _decimals(value, how)
    if isinstance(source, t.DateType):
        return _dates(value)
    if isinstance(source, (t.TimestampType, t.TimestampNTZType)):
        return _timestamps(value, how)
    if isinstance(source, t.TimeType):
        return time_of_day_to_text(value)
    if isinstance(source, t.DayTimeIntervalType):
        return _day_times(value, source)
    if isinstance(source, t.YearMonthIntervalType):
        return _year_months(value, source)
    return value.cast(pa.string())


def _patch(text: pa.Array, rows: Mask, values: pa.Array, print_one: Callable[[Any], str]) -> pa.Array:
    """``text`` with the given rows printed one by one, each distinct value once."""
    if not rows.any():
        return text
    chosen = pa.array(rows)
    printed = map_distinct(print_one, [values.filter(chosen)], int(rows.sum()), pa.string())
    return pc.replace_with_mask(text, chosen, printed)


def _decimals(value: pa.Array, how: Conversion) -> pa.Array:
    text = value.cast(pa.string())
    if how.legacy:
        return text
    scientific = np.asarray(pc.match_substring(text, "E").fill_null(False))
    scale = value.type.scale
    return _patch(text, scientific, text, lambda one: f"{decimal.Decimal(one):.{scale}f}")


def _outside(days: np.ndarray, valid: Mask | None) -> Mask:
    year, _, _ = civil_from_days(days)
    odd = (year < 0) | (year > 9999)
    return np.asarray(odd if valid is None else odd & valid)


def _print_date(days: int) -> str:
    year, month, day = (int(part[0]) for part in civil_from_days(np.array([days], np.int64)))
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def _dates(value: pa.Array) -> pa.Array:
    days, valid = unpack(value)
    odd = _outside(days, valid)
    safe = build(np.where(odd, 0, days), valid, pa.date32())
    numbers = build(days.astype(np.int64), valid, pa.int64())
    return _patch(safe.cast(pa.string()), odd, numbers, _print_date)


def _timestamps(value: pa.Array, how: Conversion) -> pa.Array:
    vector, valid = unpack(value)
    local = to_local(vector, how.source, how.zone)
    odd = _outside(local // MICROS_PER_DAY, valid)
    safe = build(np.where(odd, 0, local), valid, pa.timestamp("us"))
    text = pc.utf8_rtrim(pc.utf8_rtrim(safe.cast(pa.string()), "0"), ".")
    return _patch(text, odd, build(local, valid, pa.int64()), _print_timestamp)


def _print_timestamp(micros: int) -> str:
    days, rest = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{_print_date(days)} {clock}{tail}"


_DAY_TIME_NAMES = ("DAY", "HOUR", "MINUTE", "SECOND")


def _day_times(value: pa.Array, source: t.DayTimeIntervalType) -> pa.Array:
    first, last = source.startField, source.endField
    unit = _DAY_TIME_NAMES[first]
    unit += "" if first == last else f" TO {_DAY_TIME_NAMES[last]}"

    def show(micros: int) -> str:
        rest, fraction = divmod(abs(micros), MICROS_PER_SECOND)
        tail = f".{fraction:06d}".rstrip("0") if fraction and last == 3 else ""
        sizes = (86400, 3600, 60, 1)
        parts = []
        for field in range(first, last + 1):
            amount, rest = divmod(rest, sizes[field])
            parts.append(str(amount) if field == 0 else f"{amount:02d}")
        text = parts[0] if first else " ".join([parts[0], ":".join(parts[1:])]).strip()
        if first:
            text = ":".join(parts)
        return f"INTERVAL '{'-' if micros < 0 else ''}{text}{tail}' {unit}"

    vector, valid = unpack(value)
    return map_distinct(show, [build(vector, valid, pa.int64())], len(value), pa.string())


def _year_months(value: pa.Array, source: t.YearMonthIntervalType) -> pa.Array:
    def show(months: int) -> str:
        years, rest = divmod(abs(months), 12)
        sign = "-" if months < 0 else ""
        if source.startField == source.endField:
            amount, unit = (years, "YEAR") if source.endField == 0 else (abs(months), "MONTH")
            return f"INTERVAL '{sign}{amount}' {unit}"
        return f"INTERVAL '{sign}{years}-{rest}' YEAR TO MONTH"

    return map_distinct(show, [value], len(value), pa.string())
