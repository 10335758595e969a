"""Structs, arrays and maps: building them and reaching into them.

A list column is one column of elements and one vector of offsets, so taking an element per row is an
index computation and a ``take``, and searching in lists is one comparison of all elements at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.comparison import equal
from penstock.expr.functions.registry import ANSI, Value, function, when_ansi
from penstock.expr.functions.rules import always, literal_of, widest_nullability
from penstock.expr.functions.vectors import Mask, as_array, both, build, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []

Integers = npt.NDArray[np.int64]


class _Lists:
    """Offsets, lengths and elements of a list or map column."""

    def __init__(self, array: pa.Array) -> None:
        self.valid = valid_mask(array)
        offsets = np.asarray(array.offsets, np.int64)
        self.starts = offsets[:-1]
        self.lengths = np.diff(offsets)
        if self.valid is not None:
            self.lengths = np.where(self.valid, self.lengths, 0)
        self.keys = array.keys if pa.types.is_map(array.type) else None
        self.values = array.items if pa.types.is_map(array.type) else array.values

    def take(self, index: Integers, usable: Mask) -> pa.Array:
        """Element ``index`` of each row, NULL where it is not usable."""
        place = np.where(usable, self.starts + index, 0)
        return self.values.take(pa.array(place, mask=~usable))

    def parents(self) -> Integers:
        """The row of each element of each valid list."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def places(self) -> Integers:
        """The position among all elements of each element of each valid list."""
        before = np.cumsum(self.lengths) - self.lengths
        return np.repeat(self.starts - before, self.lengths) + np.arange(int(self.lengths.sum()))


def _field_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    struct = args[0].data_type
    assert isinstance(struct, t.StructType)
    field: t.StructField = struct.fields[options["ordinal"]]
    return field.dataType


@function("GetStructField", result=_field_type, options=("ordinal",), nullable=True)
def struct_field(call: Call, args: list[Value], length: int) -> Value:
    return as_array(args[0], length).flatten()[call.option("ordinal")]


def _element_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    container = args[0].data_type
    if isinstance(container, t.MapType):
        return container.valueType
    assert isinstance(container, t.ArrayType)
    return container.elementType


def _item(lists: _Lists, index: Integers, valid: Mask | None) -> tuple[pa.Array, Mask, Mask | None]:
    """The items at 0-based positions, which positions are outside, and which rows are not NULL."""
    inside = (index >= 0) & (index < lists.lengths)
    known = both(lists.valid, valid)
    usable = inside if known is None else inside & known
    return lists.take(index, usable), ~inside, known


@function("GetArrayItem", result=_element_type, moded=True, raises=when_ansi, nullable=True)
def array_item(call: Call, args: list[Value], length: int) -> Value:
    lists = _Lists(as_array(args[0], length))
    index, valid = unpack(args[1])
    items, outside, known = _item(lists, np.broadcast_to(index.astype(np.int64), (length,)), valid)
    if call.option("mode") == ANSI:
        fail_where(outside, known, call, args, "INVALID_ARRAY_INDEX", "the index is outside of the array")
    return items


def _element_raises(call: Call) -> bool:
    return not isinstance(call.args[0].data_type, t.MapType)


@function(
    "ElementAt",
    result=_element_type,
    moded=True,
    raises=_element_raises,
    nullable=True,
    options=("defaultValueOutOfBound",),
)
def element_at(call: Call, args: list[Value], length: int) -> Value:
    """Positions count from 1, negative ones from the end; in a map the argument is a key."""
    if pa.types.is_map(args[0].type):
        return map_value(call, args, length)
    lists = _Lists(as_array(args[0], length))
    index, valid = unpack(args[1])
    index = np.broadcast_to(index.astype(np.int64), (length,))
    zero, known = index == 0, both(lists.valid, valid)
    fail_where(zero, known, call, args, "INVALID_INDEX_OF_ZERO", "positions count from 1")
    items, outside, known = _item(lists, np.where(index < 0, lists.lengths + index, index - 1), valid)
    default = call.option("defaultValueOutOfBound")
    if default is not None:
        replaced = outside if known is None else outside & known
        return pc.if_else(pa.array(replaced), pa.scalar(default, items.type), items)
    if call.option("mode") == ANSI:
        condition = "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"
        fail_where(outside, known, call, args, condition, "the position is outside of the array")
    return items


@function("GetMapValue", result=_element_type, nullable=True)
def map_value(call: Call, args: list[Value], length: int) -> Value:
    """The value of the first equal key."""
    lists = _Lists(as_array(args[0], length))
    parents, places = lists.parents(), lists.places()
    assert lists.keys is not None
    found = _found(lists.keys, args[1], parents, places, length)
    rows, first = np.unique(parents[found], return_index=True)
    index = np.zeros(length, np.int64)
    usable = np.zeros(length, np.bool_)
    usable[rows] = True
    index[rows] = places[found][first]
    return lists.values.take(pa.array(index, mask=~usable))


def _found(elements: pa.Array, wanted: Value, parents: Integers, places: Integers, length: int) -> Integers:
    """The positions of the elements that equal the value wanted in their row."""
    candidates = elements.take(pa.array(places))
    same = equal(candidates, as_array(wanted, length).take(pa.array(parents)))
    return np.flatnonzero(np.asarray(as_array(same, len(places)).fill_null(False)))


@function("ArrayContains", result=always(t.BooleanType()), nullable=True)
def array_contains(call: Call, args: list[Value], length: int) -> Value:
    """NULL where the value is not found but NULL is among the elements."""
    lists = _Lists(as_array(args[0], length))
    parents, places = lists.parents(), lists.places()
    found = np.zeros(length, np.bool_)
    found[parents[_found(lists.values, args[1], parents, places, length)]] = True
    missing = np.zeros(length, np.bool_)
    missing[parents[np.asarray(pc.is_null(lists.values.take(pa.array(places))), np.bool_)]] = True
    return build(found, both(lists.valid, valid_mask(args[1]), found | ~missing), pa.bool_())


@function("ArrayPosition", result=always(t.LongType()))
def array_position(call: Call, args: list[Value], length: int) -> Value:
    """The position of the first equal element, counted from 1; 0 if there is none."""
    lists = _Lists(as_array(args[0], length))
    parents, places = lists.parents(), lists.places()
    found = _found(lists.values, args[1], parents, places, length)
    rows, first = np.unique(parents[found], return_index=True)
    result = np.zeros(length, np.int64)
    result[rows] = places[found][first] - lists.starts[rows] + 1
    return build(result, both(lists.valid, valid_mask(args[1])), pa.int64())


@function("Size", result=always(t.IntegerType()), options=("legacySizeOfNull",), strict=False)
def size(call: Call, args: list[Value], length: int) -> Value:
    lists = _Lists(as_array(args[0], length))
    if call.option("legacySizeOfNull"):
        sizes = lists.lengths if lists.valid is None else np.where(lists.valid, lists.lengths, -1)
        return build(sizes, None, pa.int32())
    return build(lists.lengths, lists.valid, pa.int32())


def _struct_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    names = [str(literal_of(name, "a struct", "name")) for name in args[::2]]
    pairs = zip(names, args[1::2], strict=True)
    return t.StructType([t.StructField(name, arg.data_type, arg.nullable) for name, arg in pairs])


@function("CreateNamedStruct", result=_struct_type, strict=False, nullable=False)
def create_struct(call: Call, args: list[Value], length: int) -> Value:
    fields = list(to_arrow(call.data_type))
    return pa.StructArray.from_arrays([as_array(arg, length) for arg in args[1::2]], fields=fields)


def _array_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    element: t.DataType = t.NullType()
    for arg in args:
        element = widest_nullability(element, arg.data_type)
    return t.ArrayType(element, any(arg.nullable for arg in args))


@function("CreateArray", result=_array_type, strict=False, nullable=False)
def create_array(call: Call, args: list[Value], length: int) -> Value:
    kind = to_arrow(call.data_type)
    return pa.ListArray.from_arrays(_every(length, len(args)), _interleaved(args, length), type=kind)


def _every(length: int, width: int) -> pa.Array:
    return pa.array(np.arange(length + 1, dtype=np.int32) * np.int32(width))


def _interleaved(args: Sequence[Value], length: int) -> pa.Array:
    """The values of the first row, then those of the second, and so on."""
    columns = pa.concat_arrays([as_array(arg, length) for arg in args])
    return columns.take(pa.array(np.arange(length * len(args)).reshape(len(args), length).T.ravel()))


def _map_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    keys, values = _array_type(args[::2], options), _array_type(args[1::2], options)
    assert isinstance(keys, t.ArrayType) and isinstance(values, t.ArrayType)
    return t.MapType(keys.elementType, values.elementType, values.containsNull)


@function("CreateMap", result=_map_type, strict=False, nullable=False, raises=True)
def create_map(call: Call, args: list[Value], length: int) -> Value:
    """Keys and values in turn. A key that is NULL, or there twice, is an error."""
    keys = [as_array(key, length) for key in args[::2]]
    for number, key in enumerate(keys):
        missing = np.asarray(pc.is_null(key), np.bool_)
        fail_where(missing, None, call, [key], "NULL_MAP_KEY", "a key of a map is NULL")
        for other in keys[:number]:
            twice = np.asarray(as_array(equal(key, other), length), np.bool_)
            fail_where(twice, None, call, [key], "DUPLICATED_MAP_KEY", "a key stands twice in a map")
    kind = to_arrow(call.data_type)
    values = _interleaved(args[1::2], length)
    return pa.MapArray.from_arrays(_every(length, len(keys)), _interleaved(keys, length), values).cast(kind)


def _keys_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    kind = args[0].data_type
    assert isinstance(kind, t.MapType)
    return t.ArrayType(kind.keyType, False)


def _values_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    kind = args[0].data_type
    assert isinstance(kind, t.MapType)
    return t.ArrayType(kind.valueType, kind.valueContainsNull)


def _as_lists(array: pa.Array, values: pa.Array, call: Call) -> pa.Array:
    mask = array.is_null() if array.null_count else None
    lists = _Lists(array)
    kept = values.take(pa.array(lists.places()))
    offsets = np.concatenate([[0], np.cumsum(lists.lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), kept, type=to_arrow(call.data_type), mask=mask)


@function("MapKeys", result=_keys_type)
def map_keys(call: Call, args: list[Value], length: int) -> Value:
    array = as_array(args[0], length)
    return _as_lists(array, array.keys, call)


@function("MapValues", result=_values_type)
def map_values(call: Call, args: list[Value], length: int) -> Value:
    array = as_array(args[0], length)
    return _as_lists(array, array.items, call)


@function(
    "Elt",
    result=lambda args, options: args[1].data_type,
    strict=False,
    nullable=True,
    moded=True,
    raises=when_ansi,
)
def elt(call: Call, args: list[Value], length: int) -> Value:
    """The argument whose number the first argument gives."""
    index, valid = unpack(as_array(args[0], length))
    choices = len(args) - 1
    outside = (index < 1) | (index > choices)
    if call.option("mode") == ANSI:
        text = f"there are {choices} values to choose from"
        fail_where(outside, valid, call, args[:1], "INVALID_ARRAY_INDEX", text)
    usable = ~outside if valid is None else ~outside & valid
    place = np.where(usable, (index.astype(np.int64) - 1) * length + np.arange(length), 0)
    columns = pa.concat_arrays([as_array(arg, length) for arg in args[1:]])
    return columns.take(pa.array(place, mask=~usable))
