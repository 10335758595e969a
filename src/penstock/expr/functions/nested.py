"""Structs, arrays and maps: building them and reaching into them.

A list column is one column of elements and one vector of offsets, so taking an element per row is an
index computation and a ``take``, and searching in lists is one comparison of all elements at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.comparison import equal
from penstock.expr.functions.lists import Integers, Lists, interleaved, relist
from penstock.expr.functions.registry import ANSI, Value, function, when_ansi
from penstock.expr.functions.rules import always, literal_of, widest_nullability
from penstock.expr.functions.vectors import Mask, as_array, both, build, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []


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


def _item(lists: Lists, index: Integers, valid: Mask | None) -> tuple[pa.Array, Mask, Mask | None]:
    """The items at 0-based positions, which positions are outside, and which rows are not NULL."""
    inside = (index >= 0) & (index < lists.lengths)
    known = both(lists.valid, valid)
    usable = inside if known is None else inside & known
    return lists.take(index, usable), ~inside, known


@function("GetArrayItem", result=_element_type, moded=True, raises=when_ansi, nullable=True)
def array_item(call: Call, args: list[Value], length: int) -> Value:
    lists = Lists(as_array(args[0], length))
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
    lists = Lists(as_array(args[0], length))
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
    lists = Lists(as_array(args[0], length))
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
    lists = Lists(as_array(args[0], length))
    parents, places = lists.parents(), lists.places()
    found = np.zeros(length, np.bool_)
    found[parents[_found(lists.values, args[1], parents, places, length)]] = True
    missing = np.zeros(length, np.bool_)
    missing[parents[np.asarray(pc.is_null(lists.values.take(pa.array(places))), np.bool_)]] = True
    return build(found, both(lists.valid, valid_mask(args[1]), found | ~missing), pa.bool_())


@function("ArrayPosition", result=always(t.LongType()))
def array_position(call: Call, args: list[Value], length: int) -> Value:
    """The position of the first equal element, counted from 1; 0 if there is none."""
    lists = Lists(as_array(args[0], length))
    parents, places = lists.parents(), lists.places()
    found = _found(lists.values, args[1], parents, places, length)
    rows, first = np.unique(parents[found], return_index=True)
    result = np.zeros(length, np.int64)
    result[rows] = places[found][first] - lists.starts[rows] + 1
    return build(result, both(lists.valid, valid_mask(args[1])), pa.int64())


@function("Size", result=always(t.IntegerType()), options=("legacySizeOfNull",), strict=False)
def size(call: Call, args: list[Value], length: int) -> Value:
    lists = Lists(as_array(args[0], length))
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
    if not args:
        return pa.scalar([], to_arrow(call.data_type))
    return relist(interleaved(args, length), np.full(length, len(args), np.int64), None, call.data_type)


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
