"""CAST, in all three modes: finds the converter for a pair of types and applies it, also inside nested types.

``TRY`` gives NULL for every value that ``ANSI`` refuses. ``LEGACY`` gives NULL for malformed text and lets
numbers wrap around. A pair of types without a converter is refused when the view is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
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
from penstock.expr.functions.cast_time_of_day import (
    cast_time_of_day,
    text_to_time_of_day,
    time_of_day_to_number,
    timestamp_to_time_of_day,
)
from penstock.expr.functions.cast_times import (
    cast_interval,
    interval_to_integer,
    number_to_timestamp,
    timestamp_to_number,
    to_time,
)
from penstock.expr.functions.conversion import Conversion
from penstock.expr.functions.lists import Lists, element_of, relist, remap
from penstock.expr.functions.registry import ANSI, LEGACY, Value, function
from penstock.expr.functions.vectors import as_array
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__ = ["cast_value"]

Converter = Callable[[pa.Array, Conversion], pa.Array]

_NUMBER = (t.BooleanType, t.IntegralType, t.FractionalType)
_TIME = (t.DateType, t.TimestampType, t.TimestampNTZType)
_INSTANT = (t.TimestampType, t.TimestampNTZType)
_NESTED = (t.ArrayType, t.MapType, t.StructType)
_INTERVAL = (t.DayTimeIntervalType, t.YearMonthIntervalType)


def _same(value: pa.Array, how: Conversion) -> pa.Array:
    return value


def _nothing(value: pa.Array, how: Conversion) -> pa.Array:
    return pa.nulls(len(value), to_arrow(how.target))


def _bytes(value: pa.Array, how: Conversion) -> pa.Array:
    return value.cast(pa.binary())


def _list(value: pa.Array, how: Conversion) -> pa.Array:
    lists = Lists(value)
    # Only elements of valid lists are converted, for the others must not raise.
    converted = cast_value(lists.elements(), how.within(element_of(how.source), element_of(how.target)))
    return relist(converted, lists.lengths, lists.valid, how.target)


def _map(value: pa.Array, how: Conversion) -> pa.Array:
    assert isinstance(how.source, t.MapType) and isinstance(how.target, t.MapType)
    lists = Lists(value)
    keys = cast_value(lists.key_elements(), how.within(how.source.keyType, how.target.keyType))
    items = cast_value(lists.elements(), how.within(how.source.valueType, how.target.valueType))
    return remap(keys, items, lists.lengths, lists.valid, how.target)


def _nested_text(value: pa.Array, how: Conversion) -> pa.Array:
    """``[1, null]``, ``{1, x}`` and ``{a -> 1}``, with the parts as they print by themselves."""

    def part(values: pa.Array, kind: t.DataType) -> pa.Array:
        return cast_value(values, how.within(kind, t.StringType())).fill_null("null")

    if isinstance(how.source, t.StructType):
        pairs = zip(value.flatten(), how.source.fields, strict=True)
        texts = [part(values, field.dataType) for values, field in pairs]
        joined = pc.binary_join_element_wise(*texts, pa.repeat("", len(value)), ", ")
        text = pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 0, -2), "}", "")
        return pc.if_else(pc.is_valid(value), text, pa.scalar(None, pa.string()))
    lists = Lists(value)
    if isinstance(how.source, t.MapType):
        keys = part(lists.key_elements(), how.source.keyType)
        texts = pc.binary_join_element_wise(keys, part(lists.elements(), how.source.valueType), " -> ")
    else:
        texts = part(lists.elements(), element_of(how.source))
    joined = pc.binary_join(relist(texts, lists.lengths, lists.valid, t.ArrayType(t.StringType())), ", ")
    opening, closing = "{}" if isinstance(how.source, t.MapType) else "[]"
    return pc.binary_join_element_wise(opening, joined, closing, "")


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
    if isinstance(target, t.TimeType):
        return text_to_time_of_day
    return _bytes if isinstance(target, t.BinaryType) else None


def _converter(source: t.DataType, target: t.DataType) -> Converter | None:
    if isinstance(source, t.NullType):
        return _nothing
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        return _list
    if isinstance(source, t.StructType) and isinstance(target, t.StructType):
        return _struct
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        return _map
    if to_arrow(source) == to_arrow(target) and not isinstance(source, (*_INTERVAL, t.TimeType)):
        return _same
    if isinstance(source, t.StringType):
        return _from_text(target)
    if isinstance(target, t.StringType):
        return _nested_text if isinstance(source, _NESTED) else to_text
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
    if isinstance(target, t.TimeType):
        return _time_of_day_converter(source)
    if isinstance(source, t.TimeType) and isinstance(target, (t.IntegralType, t.DecimalType)):
        return time_of_day_to_number
    if isinstance(source, _INTERVAL) and type(source) is type(target):
        return cast_interval
    if isinstance(source, _INTERVAL) and isinstance(target, t.IntegralType):
        return interval_to_integer
    return None


def _time_of_day_converter(source: t.DataType) -> Converter | None:
    if isinstance(source, t.TimeType):
        return cast_time_of_day
    return timestamp_to_time_of_day if isinstance(source, (t.TimestampType, t.TimestampNTZType)) else None


def cast_value(value: pa.Array, how: Conversion) -> pa.Array:
    """The array converted from ``how.source`` to ``how.target``."""
    converter = _converter(how.source, how.target)
    assert converter is not None, how
    return converter(value, how)


def _cast_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    source, target = args[0].data_type, options["dataType"]
    _check(source, target)
    inner = args[0].args[0] if isinstance(args[0], Call) and args[0].function == "Cast" else None
    if inner is not None and isinstance(inner.data_type, t.TimeType) and isinstance(target, _INSTANT):
        raise UnsupportedQuery(
            "a timestamp made of a time of day",
            reason="Spark takes the current date for it, and a view must not depend on the day",
            advice="Give the date, as in make_timestamp(day, time)",
        )
    assert isinstance(target, t.DataType)
    return target


def _check(source: t.DataType, target: t.DataType) -> None:
    if _converter(source, target) is None:
        names = f"{source.simpleString()} to {target.simpleString()}"
        raise UnsupportedQuery(f"a cast from {names}", reason="it is not implemented")
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        _check(source.elementType, target.elementType)
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        _check(source.keyType, target.keyType)
        _check(source.valueType, target.valueType)
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
    source, target = call.args[0].data_type, call.data_type
    if call.option("mode") != ANSI:
        from_interval = isinstance(source, _INTERVAL) and isinstance(target, t.IntegralType)
        return from_interval and call.option("mode") == LEGACY
    if isinstance(target, (t.StringType, t.BinaryType, t.BooleanType)):
        return isinstance(source, t.StringType) and isinstance(target, t.BooleanType)
    if type(source) in _WIDTHS and type(target) in _WIDTHS:
        return _WIDTHS[type(source)] > _WIDTHS[type(target)]
    if isinstance(target, (t.DoubleType, t.FloatType)):
        return isinstance(source, t.StringType)
    if isinstance(target, (*_TIME, t.TimeType)):
        return isinstance(source, (t.StringType, t.DoubleType, t.FloatType))
    if isinstance(target, t.DecimalType) and isinstance(source, t.DecimalType):
        return (
            source.precision - source.scale > target.precision - target.scale or source.scale > target.scale
        )
    if isinstance(target, t.DecimalType) and type(source) in _WIDTHS:
        return target.precision - target.scale < len(str(2 ** (8 * _WIDTHS[type(source)] - 1)))
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
    printed=True,
    raises=_cast_raises,
    options=("dataType",),
    nullable=_cast_nullable,
)
def cast(call: Call, args: list[Value], length: int) -> Value:
    how = Conversion(
        call, call.args[0].data_type, call.data_type, call.option("mode"), call.option("timezone")
    )
    return cast_value(as_array(args[0], length), how)
