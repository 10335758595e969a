"""Maps: making them from keys and values, arrays, entries and texts, and taking them apart.

A map has no NULL among its keys and no key twice. Spark refuses a second one, or lets the last one win if
the session says so (``spark.sql.mapKeyDedupPolicy``); then the value moves to the place of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.java_regex import java_regex
from penstock.expr.functions.lists import Integers, Lists, element_of, interleaved, relist, remap
from penstock.expr.functions.ranks import pairs, rank
from penstock.expr.functions.regex import java_split
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import literal_of, same_as_first, widest_nullability
from penstock.expr.functions.vectors import Mask, as_array, both, fail_where, map_distinct
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__ = ["checked_map"]


def checked_map(
    call: Call, keys: pa.Array, items: pa.Array, lengths: Integers, valid: Mask | None, *, plain: bool = False
) -> pa.Array:
    """A map column of keys and values that may break the rules. ``plain`` keys keep -0.0 as it is."""
    if keys.null_count:
        raise EvaluationError("NULL_MAP_KEY", "a key of a map is NULL", expression=str(call))
    if pa.types.is_floating(keys.type) and not plain:
        keys = pc.add(keys, pa.scalar(0.0, keys.type))
    parents = np.repeat(np.arange(len(lengths)), lengths)
    _, first, entry = np.unique(pairs(parents, rank(keys)), return_index=True, return_inverse=True)
    if len(first) < len(keys):
        if not call.option("last_key_wins"):
            second = np.setdiff1d(np.arange(len(keys)), first)[0]
            raise _twice(call, keys[int(second)])
        last = np.empty(len(first), np.int64)
        last[entry] = np.arange(len(keys))
        order = np.argsort(first)
        keys, items = keys.take(pa.array(first[order])), items.take(pa.array(last[order]))
        lengths = np.bincount(parents[first], minlength=len(lengths))
    return remap(keys, items, lengths, valid, call.data_type)


def _twice(call: Call, key: Any) -> EvaluationError:
    return EvaluationError("DUPLICATED_MAP_KEY", f"the key {key} stands twice in a map", expression=str(call))


def _common(args: Sequence[Expr]) -> t.DataType:
    result: t.DataType = t.NullType()
    for arg in args:
        result = widest_nullability(result, arg.data_type)
    return result


def _created_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not args:
        return t.MapType(t.StringType(), t.StringType(), False)
    return t.MapType(_common(args[::2]), _common(args[1::2]), any(arg.nullable for arg in args[1::2]))


@function("CreateMap", result=_created_type, strict=False, nullable=False, raises=True, keyed=True)
def create_map(call: Call, args: list[Value], length: int) -> Value:
    """Keys and values in turn."""
    if not args:
        return pa.scalar([], to_arrow(call.data_type))
    lengths = np.full(length, len(args) // 2, np.int64)
    return checked_map(call, interleaved(args[::2], length), interleaved(args[1::2], length), lengths, None)


def _map_of(expr: Expr) -> t.MapType:
    assert isinstance(expr.data_type, t.MapType)
    return expr.data_type


def _keys_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.ArrayType(_map_of(args[0]).keyType, False)


def _values_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.ArrayType(_map_of(args[0]).valueType, _map_of(args[0]).valueContainsNull)


def _entries_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    kind = _map_of(args[0])
    key = t.StructField("key", kind.keyType, False)
    value = t.StructField("value", kind.valueType, kind.valueContainsNull)
    return t.ArrayType(t.StructType([key, value]), False)


@function("MapKeys", result=_keys_type)
def map_keys(call: Call, args: list[Value], length: int) -> Value:
    lists = Lists(as_array(args[0], length))
    return relist(lists.key_elements(), lists.lengths, lists.valid, call.data_type)


@function("MapValues", result=_values_type)
def map_values(call: Call, args: list[Value], length: int) -> Value:
    lists = Lists(as_array(args[0], length))
    return relist(lists.elements(), lists.lengths, lists.valid, call.data_type)


@function("MapEntries", result=_entries_type)
def map_entries(call: Call, args: list[Value], length: int) -> Value:
    lists = Lists(as_array(args[0], length))
    fields = list(to_arrow(element_of(call.data_type)))
    entries = pa.StructArray.from_arrays([lists.key_elements(), lists.elements()], fields=fields)
    return relist(entries, lists.lengths, lists.valid, call.data_type)


@function("MapSort", result=same_as_first)
def sorted_by_key(call: Call, args: list[Value], length: int) -> Value:
    """What Spark groups by where a query groups by a map: its entries in the order of their keys."""
    lists = Lists(as_array(args[0], length))
    keys = lists.key_elements()
    order = pa.array(np.argsort(pairs(lists.parents(), rank(keys)), kind="stable"))
    return remap(keys.take(order), lists.elements().take(order), lists.lengths, lists.valid, call.data_type)


def _concat_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return _common(args) if args else t.MapType(t.StringType(), t.StringType(), False)


@function("MapConcat", result=_concat_type, raises=True, keyed=True)
def map_concat(call: Call, args: list[Value], length: int) -> Value:
    if not args:
        return pa.scalar([], to_arrow(call.data_type))
    kind = to_arrow(call.data_type)
    sides = [Lists(as_array(arg, length).cast(kind)) for arg in args]
    valid = both(*(side.valid for side in sides))
    rows = np.concatenate([side.parents() for side in sides])
    order = np.argsort(rows, kind="stable")
    if valid is not None:
        order = order[valid[rows[order]]]
    keys = pa.concat_arrays([side.key_elements() for side in sides]).take(pa.array(order))
    items = pa.concat_arrays([side.elements() for side in sides]).take(pa.array(order))
    return checked_map(call, keys, items, np.bincount(rows[order], minlength=length), valid)


def _from_arrays_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    keys, values = args[0].data_type, args[1].data_type
    assert isinstance(keys, t.ArrayType) and isinstance(values, t.ArrayType)
    return t.MapType(keys.elementType, values.elementType, values.containsNull)


@function("MapFromArrays", result=_from_arrays_type, raises=True, keyed=True)
def map_from_arrays(call: Call, args: list[Value], length: int) -> Value:
    sides = [Lists(as_array(arg, length)) for arg in args]
    valid = both(sides[0].valid, sides[1].valid)
    different = sides[0].lengths != sides[1].lengths
    text = "the arrays of keys and of values differ in length"
    fail_where(different, valid, call, args, "_LEGACY_ERROR_TEMP_2128", text)
    lengths = sides[0].lengths if valid is None else np.where(valid, sides[0].lengths, 0)
    parts = [_valid_elements(side, valid) for side in sides]
    return checked_map(call, parts[0], parts[1], lengths, valid, plain=True)


def _valid_elements(lists: Lists, valid: Mask | None) -> pa.Array:
    elements = lists.elements()
    return elements if valid is None else elements.filter(pa.array(valid[lists.parents()]))


def _from_entries_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    entry = element_of(args[0].data_type)
    assert isinstance(entry, t.StructType)
    key, value = entry.fields
    return t.MapType(key.dataType, value.dataType, value.nullable)


@function("MapFromEntries", result=_from_entries_type, nullable=True, raises=True, keyed=True)
def map_from_entries(call: Call, args: list[Value], length: int) -> Value:
    """NULL where an entry is NULL."""
    lists = Lists(as_array(args[0], length))
    entries, parents = lists.elements(), lists.parents()
    whole = np.ones(length, np.bool_) if lists.valid is None else lists.valid.copy()
    whole[parents[np.asarray(entries.is_null().to_numpy(zero_copy_only=False), np.bool_)]] = False
    kept = entries.filter(pa.array(whole[parents]))
    keys, items = kept.flatten()
    return checked_map(call, keys, items, np.where(whole, lists.lengths, 0), whole)


def _text_map_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    for arg in args[1:]:
        delimiter = literal_of(arg, "str_to_map", "delimiter")
        if delimiter is not None:
            java_regex(delimiter)
    return t.MapType(t.StringType(), t.StringType(), True)


@function("StringToMap", result=_text_map_type, raises=True, keyed=True)
def string_to_map(call: Call, args: list[Value], length: int) -> Value:
    """Splits a text into pairs and each pair into key and value; both delimiters are regular expressions."""
    last_wins = bool(call.option("last_key_wins"))

    def one(text: str, between_pairs: str, inside: str) -> list[tuple[str, str | None]]:
        entries: dict[str, str | None] = {}
        for pair in java_split(between_pairs, text, -1):
            key, *value = java_split(inside, pair, 2)
            if key in entries and not last_wins:
                raise _twice(call, key)
            entries[key] = value[0] if value else None
        return list(entries.items())

    return map_distinct(one, args, length, to_arrow(call.data_type))
