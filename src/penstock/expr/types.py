"""Spark's types, as JSON writes them and as Arrow stores them.

One logical type has exactly one physical form, so two batches of one view can always be concatenated and
hashed without looking at them. ``type_from_json`` reads the type as it stands in ``TreeNode.toJSON``
(``"long"``, ``"decimal(12,2)"``, ``{"type": "struct", …}``) and refuses what has no such form, which
happens when a view is created and never later. Both directions cost a walk over the type, not over data.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery

__all__ = ["arrow_schema", "has_lengths", "to_arrow", "type_from_json", "without_lengths"]

_ATOMIC: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "byte": t.ByteType(),
    "short": t.ShortType(),
    "integer": t.IntegerType(),
    "long": t.LongType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "string": t.StringType(),
    "binary": t.BinaryType(),
    "date": t.DateType(),
    "timestamp": t.TimestampType(),
    "timestamp_ntz": t.TimestampNTZType(),
    "void": t.NullType(),
    "null": t.NullType(),
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_TIME = re.compile(r"time\((\d)\)")
_SIZED_TEXT = re.compile(r"(?:char|varchar)\(\d+\)")
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?")
_DAY_TIME = {"day": 0, "hour": 1, "minute": 2, "second": 3}
_YEAR_MONTH = {"year": 0, "month": 1}

_ARROW: dict[type[t.DataType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.ByteType: pa.int8(),
    t.ShortType: pa.int16(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.StringType: pa.string(),
    t.CharType: pa.string(),
    t.VarcharType: pa.string(),
    t.BinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.TimestampType: pa.timestamp("us", "UTC"),
    t.TimestampNTZType: pa.timestamp("us"),
    t.TimeType: pa.time64("ns"),
    t.DayTimeIntervalType: pa.duration("us"),
    t.YearMonthIntervalType: pa.int32(),
    t.NullType: pa.null(),
}


def to_arrow(data_type: t.DataType) -> pa.DataType:
    """The Arrow type in which values of ``data_type`` are kept."""
    simple = _ARROW.get(type(data_type))
    if simple is not None:
        return simple
    if isinstance(data_type, t.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, t.ArrayType):
        return pa.list_(pa.field("element", to_arrow(data_type.elementType)))
    if isinstance(data_type, t.StructType):
        return pa.struct([pa.field(field.name, to_arrow(field.dataType)) for field in data_type.fields])
    if isinstance(data_type, t.MapType):
        return pa.map_(to_arrow(data_type.keyType), to_arrow(data_type.valueType))
    raise UnsupportedQuery(f"the type {data_type.simpleString()}", reason="it has no columnar form here")


def has_lengths(data_type: t.DataType) -> bool:
    """Whether there is a CHAR(n) or VARCHAR(n) in a type, at whatever depth."""
    if isinstance(data_type, t.ArrayType):
        return has_lengths(data_type.elementType)
    if isinstance(data_type, t.MapType):
        return has_lengths(data_type.keyType) or has_lengths(data_type.valueType)
    if isinstance(data_type, t.StructType):
        return any(has_lengths(field.dataType) for field in data_type.fields)
    return isinstance(data_type, (t.CharType, t.VarcharType))


def without_lengths(data_type: t.DataType) -> t.DataType:
    """The type with every CHAR(n) and VARCHAR(n) in it as STRING, which is what queries see of them."""
    if not has_lengths(data_type):
        return data_type
    if isinstance(data_type, t.ArrayType):
        return t.ArrayType(without_lengths(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, t.MapType):
        key, item = without_lengths(data_type.keyType), without_lengths(data_type.valueType)
        return t.MapType(key, item, data_type.valueContainsNull)
    if isinstance(data_type, t.StructType):
        return t.StructType(
            [
                t.StructField(f.name, without_lengths(f.dataType), f.nullable, f.metadata)
                for f in data_type.fields
            ]
        )
    return t.StringType()


def arrow_schema(fields: list[tuple[str, t.DataType]]) -> pa.Schema:
    """The Arrow schema of named columns."""
    return pa.schema([pa.field(name, to_arrow(data_type)) for name, data_type in fields])


def type_from_json(value: Any) -> t.DataType:
    """The type written by ``TreeNode.toJSON``: a word for atomic types, an object for nested ones."""
    if isinstance(value, str):
        return _word(value)
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "array":
        return t.ArrayType(type_from_json(value["elementType"]), value["containsNull"])
    if kind == "map":
        key, item = type_from_json(value["keyType"]), type_from_json(value["valueType"])
        return t.MapType(key, item, value["valueContainsNull"])
    if kind == "struct":
        return t.StructType(
            [t.StructField(f["name"], type_from_json(f["type"]), f["nullable"]) for f in value["fields"]]
        )
    raise UnsupportedQuery(f"the type {value}", reason="it is a user-defined or unknown type")


def _word(word: str) -> t.DataType:
    atomic = _ATOMIC.get(word)
    if atomic is not None:
        return atomic
    if match := _DECIMAL.fullmatch(word):
        return t.DecimalType(int(match[1]), int(match[2]))
    if match := _TIME.fullmatch(word):
        return t.TimeType(int(match[1]))
    if _SIZED_TEXT.fullmatch(word):
        return t.StringType()
    if match := _INTERVAL.fullmatch(word):
        first, last = match[1], match[2] or match[1]
        if first in _DAY_TIME and last in _DAY_TIME:
            return t.DayTimeIntervalType(_DAY_TIME[first], _DAY_TIME[last])
        if first in _YEAR_MONTH and last in _YEAR_MONTH:
            return t.YearMonthIntervalType(_YEAR_MONTH[first], _YEAR_MONTH[last])
    if word.startswith("string collate"):
        raise UnsupportedQuery(
            f"the type {word}",
            reason="strings are compared by their bytes",
            advice="Compare lower(text) or upper(text) instead of using a collation",
        )
    raise UnsupportedQuery(f"the type {word}", reason="it has no columnar form here")
