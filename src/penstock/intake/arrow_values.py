"""Arrow arrays of other types to the table's types, losslessly or not at all.

The rules are those of :mod:`penstock.intake.python_values`, applied to the *type* of the source once
and to its values by checked casts: any integer that fits, decimals that keep every digit, doubles to FLOAT
rounded to the nearest, timestamps of any unit that is a whole number of microseconds. Encodings
(dictionary, run-end, views, large offsets) are only ways to write the same values and are undone.
An array that already has the wanted type is passed through without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812 - Spark's own convention for this module

from penstock.expr.types import to_arrow
from penstock.intake.refusal import RefusedError, first_failure, shown, sql_name
from penstock.intake.timezones import localize

__all__ = ["check_nulls", "from_arrow", "map_entries", "offsets_of", "row_finder"]

Kind = Callable[[pa.DataType], bool]
_is = pa.types


def _is_list(arrow: pa.DataType) -> bool:
    return bool(
        _is.is_list(arrow)
        or _is.is_large_list(arrow)
        or _is.is_fixed_size_list(arrow)
        or _is.is_list_view(arrow)
        or _is.is_large_list_view(arrow)
    )


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(
        _is.is_binary(arrow)
        or _is.is_large_binary(arrow)
        or _is.is_fixed_size_binary(arrow)
        or _is.is_binary_view(arrow)
    )


def _is_text(arrow: pa.DataType) -> bool:
    return bool(_is.is_string(arrow) or _is.is_large_string(arrow) or _is.is_string_view(arrow))


def _is_local_time(arrow: pa.DataType) -> bool:
    return bool(_is.is_timestamp(arrow) and arrow.tz is None)


# The first entry that fits decides: DECIMAL is one of Spark's fractional types, but takes no floats.
_SOURCES: tuple[tuple[type[T.DataType], tuple[Kind, ...]], ...] = (
    (T.BooleanType, (_is.is_boolean,)),
    (T.DecimalType, (_is.is_integer, _is.is_decimal)),
    (T.IntegralType, (_is.is_integer, _is.is_decimal)),
    (T.FractionalType, (_is.is_integer, _is.is_floating)),
    (T.StringType, (_is_text,)),
    (T.CharType, (_is_text,)),
    (T.VarcharType, (_is_text,)),
    (T.BinaryType, (_is_bytes,)),
    (T.DateType, (_is.is_date,)),
    (T.TimestampType, (_is.is_timestamp, _is.is_date)),
    (T.TimestampNTZType, (_is_local_time, _is.is_date)),
    (T.TimeType, (_is.is_time,)),
    (T.DayTimeIntervalType, (_is.is_duration,)),
    (T.YearMonthIntervalType, (_is.is_integer,)),
    (T.ArrayType, (_is_list,)),
    (T.StructType, (_is.is_struct,)),
    (T.MapType, (_is.is_map,)),
)


def from_arrow(
    array: pa.Array, data_type: T.DataType, timezone: str, *, whole_floats: bool = False
) -> pa.Array:
    """An array of exactly ``to_arrow(data_type)``; raises :class:`RefusedError` at the first bad value.

    ``whole_floats`` lets floats without a fraction be integers: pandas turns an integer column with
    missing values into floats.
    """
    array = _decoded(array)
    wanted = to_arrow(data_type)
    if array.type == wanted:
        return array
    if _is.is_null(array.type):
        return pa.nulls(len(array), wanted)
    _check_source(array.type, data_type, whole_floats)
    if isinstance(data_type, T.ArrayType):
        return _list(array, data_type, timezone)
    if isinstance(data_type, T.StructType):
        return _struct(array, data_type, timezone)
    if isinstance(data_type, T.MapType):
        return _map(array, data_type, timezone)
    if isinstance(data_type, T.TimestampType) and getattr(array.type, "tz", None) is None:
        return localize(_cast(array, pa.timestamp("us"), data_type), timezone)
    if isinstance(data_type, T.DecimalType) and _is.is_integer(array.type):
        # Arrow asks for room for every integer of the source's type; the wide one has it.
        array = array.cast(pa.decimal256(76, data_type.scale))
    return _cast(array, wanted, data_type)


def _decoded(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if _is.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array


def _check_source(arrow: pa.DataType, data_type: T.DataType, whole_floats: bool) -> None:
    kinds = next((kinds for spark, kinds in _SOURCES if isinstance(data_type, spark)), ())
    if whole_floats and isinstance(data_type, T.IntegralType):
        kinds = (*kinds, _is.is_floating)
    if not any(kind(arrow) for kind in kinds):
        raise RefusedError(f"the data is {arrow} (Arrow), the column is {sql_name(data_type)}")


def _cast(array: pa.Array, wanted: pa.DataType, data_type: T.DataType) -> pa.Array:
    try:
        result = array.cast(wanted)
    except pa.ArrowException:
        index = first_failure(len(array), lambda low, high: _fails(array.slice(low, high - low), wanted))
        value = _displayed(array, index)
        raise RefusedError(f"{value} does not fit {sql_name(data_type)}", index=index) from None
    if isinstance(result, pa.ChunkedArray):
        raise RefusedError("more than 2 GiB of data in one column: push it in several steps")
    if isinstance(data_type, T.FloatType) and _is.is_float64(array.type):
        _refuse_new_infinities(array, result)
    return result


def _displayed(array: pa.Array, index: int) -> str:
    try:
        return shown(array[index].as_py())
    except (ValueError, OverflowError):  # a timestamp Python cannot hold
        return f"{array[index].value} as {array.type}"


def _fails(array: pa.Array, wanted: pa.DataType) -> bool:
    try:
        array.cast(wanted)
    except pa.ArrowException:
        return True
    return False


def _refuse_new_infinities(before: pa.Array, after: pa.Array) -> None:
    grown = pc.and_not(pc.is_inf(after), pc.is_inf(before)).fill_null(False)
    index = pc.index(grown, True).as_py()
    if index >= 0:
        raise RefusedError(f"{shown(before[index].as_py())} does not fit FLOAT", index=index)


def row_finder(offsets: np.ndarray[Any, Any]) -> Callable[[int], int]:
    """Gives the row in whose list or map an element stands."""
    return lambda element: int(np.searchsorted(offsets, element, side="right")) - 1


def offsets_of(array: pa.Array) -> np.ndarray[Any, Any]:
    """Offsets of ``array.flatten()``: NULL lists contribute nothing, whatever they hide."""
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _list(array: pa.Array, data_type: T.ArrayType, timezone: str) -> pa.Array:
    offsets = offsets_of(array)
    try:
        elements = from_arrow(array.flatten(), data_type.elementType, timezone)
    except RefusedError as refused:
        raise refused.within("element", row_finder(offsets)) from None
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), elements, type=to_arrow(data_type), mask=array.is_null()
    )


def map_entries(array: pa.Array) -> pa.Array:
    """A map array as a list of its (key, value) entries."""
    entry = pa.struct([pa.field("key", array.type.key_type), pa.field("value", array.type.item_type)])
    return array.cast(pa.list_(entry))


def _map(array: pa.Array, data_type: T.MapType, timezone: str) -> pa.Array:
    entries = map_entries(array)
    offsets = offsets_of(entries)
    parts = []
    for name, flat, part_type in zip(
        ("key", "value"), entries.flatten().flatten(), (data_type.keyType, data_type.valueType), strict=True
    ):
        try:
            parts.append(from_arrow(flat, part_type, timezone))
        except RefusedError as refused:
            raise refused.within(name, row_finder(offsets)) from None
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), *parts, type=to_arrow(data_type), mask=array.is_null()
    )


def _struct(array: pa.Array, data_type: T.StructType, timezone: str) -> pa.Array:
    given = [array.type.field(i).name for i in range(array.type.num_fields)]
    for name in data_type.names:
        if given.count(name) != 1:
            problem = "is missing" if name not in given else "is there twice"
            raise RefusedError(f"field {name} {problem}; the column is {sql_name(data_type)}")
    for name in given:
        if name not in data_type.names:
            raise RefusedError(f"{sql_name(data_type)} has no field {name}")
    flat = array.flatten()
    children = []
    for field in data_type.fields:
        try:
            children.append(from_arrow(flat[given.index(field.name)], field.dataType, timezone))
        except RefusedError as refused:
            raise refused.within(field.name) from None
    return pa.StructArray.from_arrays(children, fields=list(to_arrow(data_type)), mask=array.is_null())


def check_nulls(array: pa.Array, data_type: T.DataType, nullable: bool, what: str) -> None:
    """Reject a NULL where the type has none: the column itself, and inside nested values."""
    if not nullable and array.null_count:
        raise RefusedError(f"NULL in {what}", index=pc.index(array.is_null(), True).as_py())
    if isinstance(data_type, T.StructType):
        present = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
        for child, field in zip(array.take(pa.array(present)).flatten(), data_type.fields, strict=True):
            try:
                check_nulls(child, field.dataType, field.nullable, "a NOT NULL field")
            except RefusedError as refused:
                raise refused.within(field.name, lambda i: int(present[i])) from None
        return
    if isinstance(data_type, T.ArrayType):
        parts = [("element", array.flatten(), data_type.elementType, data_type.containsNull)]
        offsets = offsets_of(array)
    elif isinstance(data_type, T.MapType):
        entries = map_entries(array)
        keys, values = entries.flatten().flatten()
        offsets = offsets_of(entries)
        parts = [
            ("key", keys, data_type.keyType, False),
            ("value", values, data_type.valueType, data_type.valueContainsNull),
        ]
    else:
        return
    for name, flat, part_type, part_nullable in parts:
        try:
            check_nulls(flat, part_type, part_nullable, "a part that cannot be NULL")
        except RefusedError as refused:
            raise refused.within(name, row_finder(offsets)) from None
