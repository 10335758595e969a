"""Converts Python values to Arrow arrays, accepting only what means the same on both sides.

``pa.array`` is lenient: it accepts 5 for a date, True for an integer, and silently drops the time of day of a
datetime. So the *kinds* of values are checked first, by ``set(map(type, values))``, which runs in C and is
small for any sane column; only then does Arrow convert, and what it rejects after that is out of range.
Nested values are handled level by level, so the same rules hold inside them.

What is accepted, by type: integers for any integer, decimal and float type they fit exactly; floats for FLOAT
(rounded to the nearest, as Python has no shorter float) and DOUBLE; ``Decimal`` for decimals that can hold
every digit, and for integers if whole; dates for DATE and, as midnight, for timestamps; datetimes for
timestamps, where TIMESTAMP takes a naive one in the session's time zone and TIMESTAMP_NTZ rejects an aware
one; ``datetime.time`` without a zone for TIME; ``timedelta`` for day-time intervals; a number of months for
year-month intervals.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812 - Spark's own convention for this module

from penstock.expr.types import to_arrow
from penstock.intake.refusal import RefusedError, first_failure, shown, sql_name
from penstock.intake.timezones import localize

__all__ = ["from_python"]

Values = Sequence[Any]
_NOTHING = type(None)

# The first entry that fits decides: DECIMAL is one of Spark's fractional types, but takes no floats.
_KINDS: tuple[tuple[type[T.DataType], tuple[type, ...]], ...] = (
    (T.BooleanType, (bool,)),
    (T.DecimalType, (int, decimal.Decimal)),
    (T.IntegralType, (int, decimal.Decimal)),
    (T.FractionalType, (int, float)),
    (T.YearMonthIntervalType, (int,)),
    (T.StringType, (str,)),
    (T.CharType, (str,)),
    (T.VarcharType, (str,)),
    (T.BinaryType, (bytes, bytearray, memoryview)),
    (T.DateType, (datetime.date,)),
    (T.TimestampType, (datetime.datetime, datetime.date)),
    (T.TimestampNTZType, (datetime.datetime, datetime.date)),
    (T.TimeType, (datetime.time,)),
    (T.DayTimeIntervalType, (datetime.timedelta,)),
    (T.ArrayType, (list, tuple, np.ndarray)),
    (T.StructType, (Mapping, tuple, list)),
    (T.MapType, (Mapping,)),
    (T.NullType, ()),
)


def from_python(values: Values, data_type: T.DataType, timezone: str) -> pa.Array:
    """An array of exactly ``to_arrow(data_type)``; raises :class:`RefusedError` at the first bad value."""
    if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
    _check_kinds(values, data_type)
    if isinstance(data_type, T.ArrayType):
        return _array(values, data_type, timezone)
    if isinstance(data_type, T.StructType):
        return _struct(values, data_type, timezone)
    if isinstance(data_type, T.MapType):
        return _map(values, data_type, timezone)
    if isinstance(data_type, T.TimestampType):
        return _timestamp(values, timezone)
    if isinstance(data_type, T.TimestampNTZType):
        _refuse_first(values, _aware, "{} has a time zone, the column is TIMESTAMP_NTZ")
    if isinstance(data_type, T.TimeType):
        _refuse_first(values, _aware, "{} has a time zone, TIME has none")
    return _leaf(_prepared(values, data_type), values, data_type)


def _check_kinds(values: Values, data_type: T.DataType) -> None:
    allowed = next((kinds for spark, kinds in _KINDS if isinstance(data_type, spark)), None)
    if allowed is None:
        raise RefusedError(f"{sql_name(data_type)} columns cannot be pushed")
    bad = tuple(kind for kind in set(map(type, values)) if not _is_allowed(kind, allowed, data_type))
    if bad:
        index = next(i for i, v in enumerate(values) if type(v) in bad)
        value = values[index]
        reason = f"{shown(value)} is {_article(type(value))}, the column is {sql_name(data_type)}"
        raise RefusedError(reason + _advice(value, data_type), index=index)


def _is_allowed(kind: type, allowed: tuple[type, ...], data_type: T.DataType) -> bool:
    if kind is _NOTHING:
        return True
    if kind is bool or issubclass(kind, bool):
        return bool in allowed
    if issubclass(kind, datetime.datetime):  # a subclass of date, but it would lose its time of day
        return datetime.datetime in allowed
    return issubclass(kind, allowed)


def _article(kind: type) -> str:
    return ("an " if kind.__name__[0] in "aeiou" else "a ") + kind.__name__


def _advice(value: Any, data_type: T.DataType) -> str:
    if isinstance(value, float) and isinstance(data_type, T.DecimalType):
        return " (give a decimal.Decimal: a float is not exact)"
    if isinstance(value, str) and isinstance(data_type, T.DateType):
        return " (give a datetime.date)"
    if isinstance(value, str) and isinstance(data_type, (T.TimestampType, T.TimestampNTZType)):
        return " (give a datetime.datetime)"
    if isinstance(value, str) and isinstance(data_type, T.TimeType):
        return " (give a datetime.time)"
    return ""


def _refuse_first(values: Values, is_bad: Callable[[Any], bool], reason: str) -> None:
    for index, value in enumerate(values):
        if is_bad(value):
            raise RefusedError(reason.format(shown(value)), index=index)


def _aware(value: Any) -> bool:
    if isinstance(value, datetime.time):
        return value.tzinfo is not None
    return isinstance(value, datetime.datetime) and value.utcoffset() is not None


def _prepared(values: Values, data_type: T.DataType) -> Values:
    """Values Arrow would misread, put into a form it reads right."""
    if isinstance(data_type, T.IntegralType) and decimal.Decimal in set(map(type, values)):
        _refuse_first(
            values,
            lambda v: isinstance(v, decimal.Decimal) and (not v.is_finite() or v != v.to_integral_value()),
            f"{{}} does not fit {sql_name(data_type)}",
        )
        return [int(v) if isinstance(v, decimal.Decimal) else v for v in values]
    if isinstance(data_type, T.BinaryType):
        return [v if v is None or type(v) is bytes else bytes(v) for v in values]
    if isinstance(data_type, T.TimestampNTZType) and datetime.date in set(map(type, values)):
        midnight = datetime.time()
        return [datetime.datetime.combine(v, midnight) if type(v) is datetime.date else v for v in values]
    return values


def _leaf(prepared: Values, values: Values, data_type: T.DataType) -> pa.Array:
    arrow = to_arrow(data_type)
    try:
        array = pa.array(prepared, arrow)
    except (pa.ArrowException, OverflowError, ValueError):
        index = first_failure(len(prepared), lambda low, high: _fails(prepared[low:high], arrow))
        raise RefusedError(
            f"{shown(values[index])} does not fit {sql_name(data_type)}", index=index
        ) from None
    if isinstance(array, pa.ChunkedArray):
        raise RefusedError("more than 2 GiB of data in one column: push it in several steps")
    if isinstance(data_type, T.FloatType):
        _refuse_infinite(array, values)
    return array


def _fails(values: Values, arrow: pa.DataType) -> bool:
    try:
        pa.array(values, arrow)
    except (pa.ArrowException, OverflowError, ValueError):
        return True
    return False


def _refuse_infinite(array: pa.Array, values: Values) -> None:
    """A finite double beyond the range of FLOAT would become infinite."""
    infinite = np.flatnonzero(np.isinf(array.to_numpy(zero_copy_only=False)))
    for index in infinite.tolist():
        if not np.isinf(float(values[index])):
            raise RefusedError(f"{shown(values[index])} does not fit FLOAT", index=index)


def _timestamp(values: Values, timezone: str) -> pa.Array:
    """Aware values are instants already; naive ones are local times of the session's zone."""
    data_type = T.TimestampType()
    aware = [_aware(v) for v in values]
    if all(aware):
        return _leaf(values, values, data_type)
    local = [None if known else value for known, value in zip(aware, values, strict=True)]
    wanted = T.TimestampNTZType()
    naive = localize(_leaf(_prepared(local, wanted), local, wanted), timezone)
    if not any(aware):
        return naive
    instants = _leaf(
        [v if known else None for known, v in zip(aware, values, strict=True)], values, data_type
    )
    return pc.if_else(pa.array(aware), instants, naive)


def _validity(values: Values) -> tuple[pa.Array, list[int]]:
    """A mask of the NULLs, and the positions of the other values."""
    missing = [v is None for v in values]
    return pa.array(missing, pa.bool_()), [i for i, absent in enumerate(missing) if not absent]


def _offsets(values: Values) -> tuple[np.ndarray[Any, Any], Callable[[int], int]]:
    """Offsets of the flattened elements, and the way back from an element to its row."""
    lengths = np.fromiter((0 if v is None else len(v) for v in values), np.int64, len(values))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return offsets, lambda element: int(np.searchsorted(offsets, element, side="right")) - 1


def _array(values: Values, data_type: T.ArrayType, timezone: str) -> pa.Array:
    missing, _ = _validity(values)
    offsets, row_of = _offsets(values)
    flat = list(chain.from_iterable(v for v in values if v is not None))
    try:
        elements = from_python(flat, data_type.elementType, timezone)
    except RefusedError as refused:
        raise refused.within("element", row_of) from None
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), elements, type=to_arrow(data_type), mask=missing
    )


def _map(values: Values, data_type: T.MapType, timezone: str) -> pa.Array:
    missing, _ = _validity(values)
    offsets, row_of = _offsets(values)
    parts: list[pa.Array] = []
    present = [v for v in values if v is not None]
    for name, flat, part_type in (
        ("key", list(chain.from_iterable(v.keys() for v in present)), data_type.keyType),
        ("value", list(chain.from_iterable(v.values() for v in present)), data_type.valueType),
    ):
        try:
            parts.append(from_python(flat, part_type, timezone))
        except RefusedError as refused:
            raise refused.within(name, row_of) from None
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), *parts, type=to_arrow(data_type), mask=missing
    )


def _struct(values: Values, data_type: T.StructType, timezone: str) -> pa.Array:
    missing, present = _validity(values)
    for index in present:
        _check_struct(values[index], data_type, index)
    children = []
    for ordinal, field in enumerate(data_type.fields):
        column = [None] * len(values)
        for index in present:
            value = values[index]
            column[index] = value[field.name] if isinstance(value, Mapping) else value[ordinal]
        try:
            children.append(from_python(column, field.dataType, timezone))
        except RefusedError as refused:
            raise refused.within(field.name) from None
    arrow = to_arrow(data_type)
    return pa.StructArray.from_arrays(children, fields=list(arrow), mask=missing)


def _check_struct(value: Any, data_type: T.StructType, index: int) -> None:
    names = data_type.names
    if isinstance(value, Mapping):
        given = list(value)
    elif hasattr(value, "__fields__"):  # a pyspark Row with names: they must be the struct's, in order
        given = list(value.__fields__)
        if given != names and sorted(given) == sorted(names):
            raise RefusedError(f"fields {given} are not in the order of {sql_name(data_type)}", index=index)
    elif len(value) == len(names):
        return
    else:
        raise RefusedError(
            f"{len(value)} values for the {len(names)} fields of {sql_name(data_type)}", index=index
        )
    for name in names:
        if name not in given:
            raise RefusedError(f"field {name} is missing in {shown(value)}", index=index)
    for name in given:
        if name not in names:
            raise RefusedError(f"{sql_name(data_type)} has no field {name}", index=index)
