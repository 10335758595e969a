"""CAST, in all three modes: finds the converter for a pair of types and applies it, also inside nested types.

``TRY`` gives NULL for every value that ``ANSI`` refuses. ``LEGACY`` gives NULL for malformed text and lets
numbers wrap around. A pair of types without a converter is refused when the view is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.cast_numbers import cast_number
from penstock.expr.functions.cast_parse import (
    text_to_boolean,
    text_to_decimal,
    text_to_float,
    text_to_integer,
)
from penstock.expr.functions.cast_parse_times import text_to_date, text_to_timestamp
from penstock.expr.functions.cast_text import to_text
from penstock.expr.functions.cast_times import (
    cast_interval,
    interval_to_integer,
    number_to_timestamp,
    timestamp_to_number,
    to_time,
)
from penstock.expr.functions.conversion import Conversion
from penstock.expr.functions.registry import ANSI, Value, function
from penstock.expr.functions.vectors import as_array
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__ = ["cast_value"]

Converter = Callable[[pa.Array, Conversion], pa.Array]

_NUMBER = (t.BooleanType, t.IntegralType, t.FractionalType)
_TIME = (t.DateType, t.TimestampType, t.TimestampNTZType)
_INTERVAL = (t.DayTimeIntervalType, t.YearMonthIntervalType)


def _same(value: pa.Array, how: Conversion) -> pa.Array:
    return value


def _nothing(value: pa.Array, how: Conversion) -> pa.Array:
    return pa.nulls(len(value), to_arrow(how.target))


def _bytes(value: pa.Array, how: Conversion) -> pa.Array:
    return value.cast(pa.binary())


def _list(value: pa.Array, how: Conversion) -> pa.Array:
    assert isinstance(how.source, t.ArrayType) and isinstance(how.target, t.ArrayType)
    inner = how.within(how.source.elementType, how.target.elementType)
    # Elements outside of any valid list must not be converted, for they must not raise: flatten drops them.
    converted = cast_value(value.flatten(), inner)
    lengths = np.asarray(value.value_lengths().fill_null(0), np.int32)
    offsets = pa.array(np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)]))
    mask = value.is_null() if value.null_count else None
    return pa.ListArray.from_arrays(offsets, converted, type=to_arrow(how.target), mask=mask)


def _struct(value: pa.Array, how: Conversion) -> pa.Array:
    assert isinstance(how.source, t.StructType) and isinstance(how.target, t.StructType)
    pairs = zip(how.source.fields, how.target.fields, strict=True)
    inner = [how.within(old.dataType, new.dataType) for old, new in pairs]
    parts = [cast_value(part, one) for part, one in zip(value.flatten(), inner, strict=True)]
    fields = list(to_arrow(how.target))
    return pa.StructArray.from_arrays(parts, fields=fields, mask=value.is_null())


def _from_text(target: t.DataType) -> Converter | None:
    if isinstance(target, t.BooleanType):
        return text_to_boolean
    if isinstance(target, t.IntegralType):
        return text_to_integer
    if isinstance(target, (t.DoubleType, t.FloatType)):
        return text_to_float
    if isinstance(target, t.DecimalType):
        return text_to_decimal
    if isinstance(target, t.DateType):
        return text_to_date
    if isinstance(target, (t.TimestampType, t.TimestampNTZType)):
        return text_to_timestamp
    return _bytes if isinstance(target, t.BinaryType) else None


def _converter(source: t.DataType, target: t.DataType) -> Converter | None:
    if isinstance(source, t.NullType):
        return _nothing
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        return _list
    if isinstance(source, t.StructType) and isinstance(target, t.StructType):
        return _struct
    if to_arrow(source) == to_arrow(target) and not isinstance(source, _INTERVAL):
        return _same
    if isinstance(source, t.StringType):
        return _from_text(target)
    if isinstance(target, t.StringType):
        nested = isinstance(source, (t.ArrayType, t.MapType, t.StructType))
        return None if nested else to_text
    if isinstance(source, _NUMBER) and isinstance(target, _NUMBER):
        return cast_number
    return _time_converter(source, target)


def _time_converter(source: t.DataType, target: t.DataType) -> Converter | None:
    if isinstance(source, _TIME) and isinstance(target, _TIME):
        return to_time
    if isinstance(source, _NUMBER) and isinstance(target, t.TimestampType):
        return number_to_timestamp
    if isinstance(source, t.TimestampType) and isinstance(target, _NUMBER):
        return timestamp_to_number
    if isinstance(source, _INTERVAL) and type(source) is type(target):
        return cast_interval
    if isinstance(source, _INTERVAL) and isinstance(target, t.IntegralType):
        return interval_to_integer
    return None


def cast_value(value: pa.Array, how: Conversion) -> pa.Array:
    """The array converted from ``how.source`` to ``how.target``."""
    converter = _converter(how.source, how.target)
    assert converter is not None, how
    return converter(value, how)


def _cast_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    source, target = args[0].data_type, options["dataType"]
    _check(source, target)
    assert isinstance(target, t.DataType)
    return target


def _check(source: t.DataType, target: t.DataType) -> None:
    if _converter(source, target) is None:
        names = f"{source.simpleString()} to {target.simpleString()}"
        raise UnsupportedQuery(f"a cast from {names}", reason="it is not implemented")
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        _check(source.elementType, target.elementType)
    if isinstance(source, t.StructType) and isinstance(target, t.StructType):
        for old, new in zip(source.fields, target.fields, strict=True):
            _check(old.dataType, new.dataType)


_WIDTHS: dict[type[t.DataType], int] = {
    t.BooleanType: 0,
    t.ByteType: 1,
    t.ShortType: 2,
    t.IntegerType: 4,
    t.LongType: 8,
}


def _cast_raises(call: Call) -> bool:
    """Widening a number, printing and moving between dates and timestamps always succeed."""
    if call.option("mode") != ANSI:
        return False
    source, target = call.args[0].data_type, call.data_type
    if isinstance(target, (t.StringType, t.BinaryType, t.BooleanType)):
        return isinstance(source, t.StringType) and isinstance(target, t.BooleanType)
    if type(source) in _WIDTHS and type(target) in _WIDTHS:
        return _WIDTHS[type(source)] > _WIDTHS[type(target)]
    if isinstance(target, (t.DoubleType, t.FloatType)):
        return isinstance(source, t.StringType)
    if isinstance(target, _TIME):
        return isinstance(source, (t.StringType, t.DoubleType, t.FloatType))
    if isinstance(target, t.DecimalType) and isinstance(source, t.DecimalType):
        return (
            source.precision - source.scale > target.precision - target.scale or source.scale > target.scale
        )
    return True


def _cast_nullable(args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
    """NaN has no decimal even in ANSI mode; the other modes make NULLs of whatever fails."""
    from_float = isinstance(args[0].data_type, (t.DoubleType, t.FloatType))
    return args[0].nullable or from_float or options["mode"] != ANSI


@function(
    "Cast",
    result=_cast_type,
    moded=True,
    zoned=True,
    raises=_cast_raises,
    options=("dataType",),
    nullable=_cast_nullable,
)
def cast(call: Call, args: list[Value], length: int) -> Value:
    how = Conversion(
        call, call.args[0].data_type, call.data_type, call.option("mode"), call.option("timezone")
    )
    return cast_value(as_array(args[0], length), how)
