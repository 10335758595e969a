"""Arrays with something added, left out, repeated, cut or put together.

Every function here computes for each element of the result where it comes from (an index into the elements of
the arguments, or nowhere, which is NULL) and gathers them in one ``take``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.comparison import equal
from penstock.expr.functions.lists import Integers, Lists, element_of, relist, renamed, spread
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import same_as_first, widest_nullability
from penstock.expr.functions.vectors import Mask, as_array, both, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__ = ["concatenate_arrays"]


def _where(valid: Mask | None, lengths: Integers) -> Integers:
    return lengths if valid is None else np.where(valid, lengths, 0)


def _numbers(value: Value, length: int) -> tuple[Integers, Mask | None]:
    vector, valid = unpack(as_array(value, length))
    return vector.astype(np.int64), valid


def _insert_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if options["legacyNegativeIndex"]:
        raise UnsupportedQuery(
            "array_insert counting from the end in the old way",
            advice="Set spark.sql.legacy.negativeIndexInArrayInsert to false",
        )
    return t.ArrayType(widest_nullability(element_of(args[0].data_type), args[2].data_type), True)


@function(
    "ArrayInsert",
    result=_insert_type,
    strict=False,
    nullable=True,
    raises=True,
    options=("legacyNegativeIndex",),
)
def insert(call: Call, args: list[Value], length: int) -> Value:
    """Positions count from 1, or from the end if they are negative; a gap is filled with NULLs."""
    lists, (position, known) = Lists(as_array(args[0], length)), _numbers(args[1], length)
    valid = both(lists.valid, known)
    zero = position == 0
    fail_where(zero, valid, call, args, "INVALID_INDEX_OF_ZERO", "positions count from 1")
    place = np.where(position > 0, position - 1, lists.lengths + position + 1)
    gap = np.maximum(-place, 0)
    place = np.maximum(place, 0)
    lengths = _where(valid, np.maximum(lists.lengths, place) + 1 + gap)
    parents, index = spread(lengths)
    source = np.where(index < place[parents], index, index - 1 - gap[parents])
    inside = (source >= 0) & (source < lists.lengths[parents])
    is_new = index == place[parents]
    values = renamed(lists.values, to_arrow(element_of(call.data_type)))
    both_sources = pa.concat_arrays([values, renamed(as_array(args[2], length), values.type)])
    chosen = np.where(is_new, len(values) + parents, np.where(inside, lists.starts[parents] + source, 0))
    elements = both_sources.take(pa.array(chosen, mask=~(inside | is_new)))
    return relist(elements, lengths, valid, call.data_type)


@function("ArrayRemove", result=same_as_first)
def remove(call: Call, args: list[Value], length: int) -> Value:
    """Every element that equals the value; NULLs stay."""
    lists = Lists(as_array(args[0], length))
    valid = both(lists.valid, valid_mask(as_array(args[1], length)))
    parents, elements = lists.parents(), lists.elements()
    same = equal(elements, as_array(args[1], length).take(pa.array(parents)))
    kept = ~np.asarray(as_array(same, len(parents)).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    if valid is not None:
        kept &= valid[parents]
    lengths = np.bincount(parents[kept], minlength=length)
    return relist(elements.filter(pa.array(kept)), lengths, valid, call.data_type)


def _repeat_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.ArrayType(args[0].data_type, args[0].nullable)


@function("ArrayRepeat", result=_repeat_type, strict=False, nullable=lambda args, options: args[1].nullable)
def repeat(call: Call, args: list[Value], length: int) -> Value:
    count, valid = _numbers(args[1], length)
    lengths = _where(valid, np.maximum(count, 0))
    parents, _ = spread(lengths)
    return relist(as_array(args[0], length).take(pa.array(parents)), lengths, valid, call.data_type)


@function("Slice", result=same_as_first, raises=True)
def cut(call: Call, args: list[Value], length: int) -> Value:
    """Some elements from a position on, which counts from 1 or, if it is negative, from the end."""
    lists = Lists(as_array(args[0], length))
    (start, start_known), (count, count_known) = _numbers(args[1], length), _numbers(args[2], length)
    valid = both(lists.valid, start_known, count_known)
    fail_where(start == 0, valid, call, args, "INVALID_PARAMETER_VALUE.START", "positions count from 1")
    fail_where(count < 0, valid, call, args, "INVALID_PARAMETER_VALUE.LENGTH", "the length is negative")
    first = np.where(start > 0, start - 1, lists.lengths + start)
    inside = (first >= 0) & (first < lists.lengths)
    lengths = _where(valid, np.where(inside, np.minimum(count, lists.lengths - first), 0))
    parents, index = spread(lengths)
    elements = lists.values.take(pa.array(lists.starts[parents] + first[parents] + index))
    return relist(elements, lengths, valid, call.data_type)


@function("Flatten", result=lambda args, options: element_of(args[0].data_type), nullable=True)
def flatten(call: Call, args: list[Value], length: int) -> Value:
    """An array of arrays as one; NULL if one of them is."""
    outer = Lists(as_array(args[0], length))
    inner, rows = Lists(outer.elements()), outer.parents()
    whole = np.ones(length, np.bool_) if outer.valid is None else outer.valid.copy()
    if inner.valid is not None:
        whole[rows[~inner.valid]] = False
    parents = rows[inner.parents()]
    kept = whole[parents]
    lengths = np.bincount(parents[kept], minlength=length)
    return relist(inner.elements().filter(pa.array(kept)), lengths, whole, call.data_type)


def concatenate_arrays(call: Call, args: list[Value], length: int) -> Value:
    """``concat`` of arrays: NULL if one of them is."""
    kind = to_arrow(call.data_type)
    sides = [Lists(renamed(as_array(arg, length), kind)) for arg in args]
    valid = both(*(side.valid for side in sides))
    rows = np.concatenate([side.parents() for side in sides])
    order = np.argsort(rows, kind="stable")
    if valid is not None:
        order = order[valid[rows[order]]]
    elements = pa.concat_arrays([side.elements() for side in sides]).take(pa.array(order))
    return relist(elements, np.bincount(rows[order], minlength=length), valid, call.data_type)


def _zip_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    pairs = zip(options["names"], args, strict=True)
    fields = [t.StructField(str(name), element_of(arg.data_type), True) for name, arg in pairs]
    return t.ArrayType(t.StructType(fields), False)


@function("ArraysZip", result=_zip_type, options=("names",))
def zip_arrays(call: Call, args: list[Value], length: int) -> Value:
    """Structs of elements at the same position; what is missing in shorter arrays is NULL."""
    sides = [Lists(as_array(arg, length)) for arg in args]
    valid = both(*(side.valid for side in sides))
    lengths = np.zeros(length, np.int64)
    for side in sides:
        lengths = np.maximum(lengths, side.lengths)
    lengths = _where(valid, lengths)
    parents, index = spread(lengths)
    kind = to_arrow(element_of(call.data_type))
    if not sides:
        return relist(pa.array([], kind), lengths, valid, call.data_type)
    parts = []
    for side in sides:
        inside = index < side.lengths[parents]
        places = np.where(inside, side.starts[parents] + index, 0)
        parts.append(side.values.take(pa.array(places, mask=~inside)))
    return relist(pa.StructArray.from_arrays(parts, fields=list(kind)), lengths, valid, call.data_type)


def _fields_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    struct = element_of(args[0].data_type)
    assert isinstance(struct, t.StructType)
    return t.ArrayType(struct.fields[options["ordinal"]].dataType, True)


@function("GetArrayStructFields", result=_fields_type, options=("ordinal",))
def field_of_all(call: Call, args: list[Value], length: int) -> Value:
    """One field of each struct in an array."""
    lists = Lists(as_array(args[0], length))
    field = lists.elements().flatten()[call.option("ordinal")]
    return relist(field, lists.lengths, lists.valid, call.data_type)
