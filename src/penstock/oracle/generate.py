"""Random rows for any table, made to meet each other and to hit the edges.

Each type has a short list of *ordinary* values, the same in every table, so that joins match, groups repeat
and updates find their row, and a list of *edge* values where engines go wrong: NaN, infinities, both zeros,
the smallest and largest numbers, leap days, hours that a clock skips or repeats, empty and non-ASCII text,
decimals with every digit in use. A column draws from the first, from the second or NULL, with probabilities
from a :class:`Profile`; hints in the column's comment restrain it (see :mod:`penstock.oracle.fixtures`).
Values are drawn by index from the lists, so a column of a million rows costs one ``take``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.types import to_arrow
from penstock.intake.python_values import from_python
from penstock.pipeline.tables import TableSchema

__all__ = ["Profile", "random_rows"]

Generator = np.random.Generator
Values = list[Any]


@dataclass(frozen=True)
class Profile:
    """How rows are drawn: ``distinct`` ordinary values per column, ``keys`` per key column, and how often
    a value is NULL or an edge value."""

    distinct: int = 6
    keys: int = 30
    null: float = 0.1
    edge: float = 0.08

    def widened(self, factor: int) -> Profile:
        """More distinct values: many rows that do not all meet each other."""
        return replace(self, distinct=self.distinct * factor, keys=self.keys * factor)


def random_rows(table: TableSchema, rng: Generator, count: int, profile: Profile) -> pa.RecordBatch:
    """``count`` random rows of ``table``; keys may repeat."""
    columns = []
    for field in table.fields:
        in_key = field.name in table.primary_key
        # A key of two columns has as many values as one of one column.
        root = max(2, round(profile.keys ** (1 / len(table.primary_key)))) if in_key else profile.distinct
        columns.append(_column(field, rng, count, replace(profile, distinct=root)))
    return pa.RecordBatch.from_arrays(columns, schema=table.arrow_schema)


def _column(field: t.StructField, rng: Generator, count: int, profile: Profile) -> pa.Array:
    hint = field.metadata.get("comment", "")
    if hint.startswith("of:"):
        named = pa.array([text.strip() for text in hint[3:].split("|")])
        ordinary, edges = named.cast(to_arrow(field.dataType)).to_pylist(), list[Any]()
    else:
        ordinary = _ordinary(field.dataType, profile.distinct)
        edges = _edges(field.dataType, hint)
    pool = from_python([*ordinary, *edges, None], field.dataType, "UTC")
    draw = rng.random(count)
    null = profile.null if field.nullable else 0.0
    edge = profile.edge if edges else 0.0
    # A power above 1 makes the first values more frequent: some groups are big, some have one row.
    common = (len(ordinary) * rng.random(count) ** 1.5).astype(np.int64)
    rare = len(ordinary) + rng.integers(0, max(1, len(edges)), count)
    index = np.where(draw < null, len(pool) - 1, np.where(draw < null + edge, rare, common))
    return pool.take(pa.array(index))


_FIRST_DAY = dt.date(2024, 2, 27)
_FIRST_INSTANT = dt.datetime(2024, 3, 31, 0, 15, 0, 250_000)
_WORDS = ("a", "b", "ab", "B", "a b", "ba", "abc", "x%y", "z_z", "42")

_ORDINARY: dict[type[t.DataType], Callable[[int], Any]] = {
    t.FloatType: lambda i: i / 4 - 0.5,
    # Quarters add up exactly in any order, tenths do not.
    t.DoubleType: lambda i: i / 4 - 0.5 if i % 2 else i / 10,
    t.StringType: lambda i: _WORDS[i % len(_WORDS)] + str(i // len(_WORDS) or ""),
    t.BinaryType: lambda i: bytes([i % 256, i // 256]),
    t.DateType: lambda i: _FIRST_DAY + dt.timedelta(days=i),
    t.TimestampType: lambda i: (_FIRST_INSTANT + dt.timedelta(minutes=30 * i)).replace(tzinfo=dt.UTC),
    t.TimestampNTZType: lambda i: _FIRST_INSTANT + dt.timedelta(minutes=30 * i),
    t.TimeType: lambda i: dt.time(i // 2 % 24, 30 * (i % 2), i % 60),
    t.DayTimeIntervalType: lambda i: dt.timedelta(hours=7 * i - 7),
    t.YearMonthIntervalType: lambda i: i - 1,
}


def _ordinary(data_type: t.DataType, count: int) -> Values:
    if isinstance(data_type, t.BooleanType):
        return [True, False]
    if isinstance(data_type, t.IntegralType):
        return [i % 100 - 1 if isinstance(data_type, t.ByteType) else i - 1 for i in range(count)]
    if isinstance(data_type, t.DecimalType):
        whole = 10 ** min(data_type.precision - data_type.scale, 4)
        unit = Decimal(1).scaleb(-data_type.scale)
        return [i % whole + (i * 7 % 10) * unit * bool(data_type.scale) for i in range(count)]
    if isinstance(data_type, (t.ArrayType, t.StructType, t.MapType)):
        return _nested(data_type, min(count, 12), _ordinary)
    if isinstance(data_type, (t.CharType, t.VarcharType)):
        # Of more texts than fit, the last characters: they are numbered. Some have spaces that make no CHAR.
        texts = [text[-data_type.length :] for text in _ordinary(t.StringType(), count)]
        return [text + " " * (i % 3) for i, text in enumerate(texts)]
    return [_ORDINARY[type(data_type)](i) for i in range(count)]


def _nested(data_type: t.DataType, count: int, inner: Callable[[t.DataType, int], Values]) -> Values:
    """Nested values out of the inner lists: each of them starts at another element."""
    if isinstance(data_type, t.ArrayType):
        parts = inner(data_type.elementType, count)
        return [[parts[(i + j) % len(parts)] for j in range(i % 4)] for i in range(count)]
    if isinstance(data_type, t.MapType):
        keys, values = inner(data_type.keyType, count), inner(data_type.valueType, count)
        return [
            {keys[(i + j) % len(keys)]: values[(i * j) % len(values)] for j in range(i % 3)}
            for i in range(count)
        ]
    assert isinstance(data_type, t.StructType)
    columns = {field.name: inner(field.dataType, count) for field in data_type.fields}
    return [
        {name: parts[(i + shift) % len(parts)] for shift, (name, parts) in enumerate(columns.items())}
        for i in range(count)
    ]


_BITS = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
_DOUBLES = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]
_EDGES: dict[type[t.DataType], tuple[Values, Values]] = {  # (always, only where the column is not tame)
    t.BooleanType: ([], []),
    t.FloatType: (_DOUBLES, [3.4028234663852886e38, 1.401298464324817e-45]),
    t.DoubleType: (_DOUBLES, [1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 0.1 + 0.2]),
    t.StringType: (["", " pad ", "ß", "日本語", "😀e\u0301", "A\tb\n", "%", "\\_"], ["x" * 300]),
    t.BinaryType: ([b"", b"\x00\xff", b"\x00"], []),
    t.DateType: (
        [dt.date(2024, 2, 29), dt.date(2023, 12, 31), dt.date(1970, 1, 1)],
        [dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(1900, 2, 28), dt.date(9999, 12, 31)],
    ),
    t.TimestampNTZType: (
        [dt.datetime(2024, 10, 27, 2, 30), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)],
        [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)],
    ),
    t.TimeType: ([dt.time(0), dt.time(23, 59, 59), dt.time(12)], []),
    t.DayTimeIntervalType: (
        [dt.timedelta(0), dt.timedelta(days=-1, microseconds=1)],
        [dt.timedelta(days=106_751_991), dt.timedelta(days=-106_751_991)],
    ),
    t.YearMonthIntervalType: ([0, -13], [2**31 - 1, -(2**31)]),
}


def _edges(data_type: t.DataType, hint: str = "") -> Values:
    free = not hint.startswith(("tame", "finite"))
    if isinstance(data_type, t.IntegralType):
        limit = 2 ** (_BITS[type(data_type)] - 1)
        return [limit - 1, -limit, 0] if free else [100, -100, 0]
    if isinstance(data_type, t.DecimalType):
        unit = Decimal(1).scaleb(-data_type.scale)
        largest = Decimal((0, (9,) * data_type.precision, -data_type.scale))
        return [largest, largest.copy_negate(), unit, Decimal(0)] if free else [-unit, unit, Decimal(0)]
    if isinstance(data_type, (t.ArrayType, t.StructType, t.MapType)):
        return _nested_edges(data_type)
    if isinstance(data_type, (t.CharType, t.VarcharType)):
        inside = [text[: data_type.length] for text in _EDGES[t.StringType][0]]
        return [*inside, "x" * data_type.length, " " * (data_type.length + 2), "a" + " " * data_type.length]
    if isinstance(data_type, t.TimestampType):
        return [value.replace(tzinfo=dt.UTC) for value in _edges(t.TimestampNTZType(), hint)]
    always, wild = _EDGES[type(data_type)]
    if hint.startswith("finite"):
        always = [value for value in always if not isinstance(value, float) or np.isfinite(value)]
    return [*always, *wild] if free else always


def _nested_edges(data_type: t.DataType) -> Values:
    if isinstance(data_type, t.StructType):
        return _nested(data_type, 3, lambda part, count: (_edges(part) or _ordinary(part, 1))[:count])
    if isinstance(data_type, t.ArrayType):
        inner = _edges(data_type.elementType)
        return [[], [*inner, None] if data_type.containsNull else inner]
    assert isinstance(data_type, t.MapType)
    return [{}]
