"""Functions of arrays that take a lambda function: transform, filter, exists, forall and zip_with.

The body of the function is evaluated once for all elements of all rows: each element is a row of its own, in
which the function's arguments are variables and the columns are those of the row the element came from.
Cost: one pass over the elements, and a ``take`` of each column that the body reads.

Spark leaves an array as soon as ``exists`` or ``forall`` is decided. Only where the body may raise can that
be told from outside; then the first elements of all rows are looked at, then the second ones of the rows
that are still open, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.lists import Integers, Lists, relist
from penstock.expr.functions.registry import Rows, Value, lazy_function, may_raise
from penstock.expr.functions.rules import always, same_as_first
from penstock.expr.functions.vectors import Mask, as_array, both, build
from penstock.expr.nodes import Call, Expr

__all__ = ["apply_lambda", "lambda_of", "like_first", "truth"]


def _bound_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    raise AssertionError("lambda functions and their variables are typed when they are read")


@lazy_function("LambdaFunction", result=_bound_type)
def body(call: Call, rows: Rows) -> Value:
    """The function's result on rows in which its arguments are bound."""
    return rows.value(call.args[0])


@lazy_function("NamedLambdaVariable", result=_bound_type)
def variable(call: Call, rows: Rows) -> Value:
    return rows.variable(call.option("number"))


def lambda_of(expr: Expr) -> Call:
    """An argument that must be a lambda function."""
    assert isinstance(expr, Call) and expr.function == "LambdaFunction", expr
    return expr


def apply_lambda(function: Call, rows: Rows, parents: Any, values: Sequence[pa.Array]) -> pa.Array:
    """The function applied to ``values``, in which row ``i`` belongs to row ``parents[i]`` of ``rows``."""
    first, count = function.option("first"), function.option("count")
    bound = {first + place: array for place, array in enumerate(values[:count])}
    return as_array(rows.bind(parents, bound).value(function), len(parents))


def like_first(args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
    """A rule for when the result can be NULL: where the first argument is."""
    return args[0].nullable


def truth(values: pa.Array) -> Mask:
    """Where a condition holds."""
    return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _list(expr: Expr, rows: Rows) -> Lists:
    return Lists(as_array(rows.value(expr), rows.length))


def _results(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.ArrayType(args[-1].data_type, args[-1].nullable)


@lazy_function("ArrayTransform", result=_results, nullable=like_first)
def transform(call: Call, rows: Rows) -> Value:
    lists = _list(call.args[0], rows)
    index = pa.array(lists.index().astype(np.int32))
    made = apply_lambda(lambda_of(call.args[1]), rows, lists.parents(), [lists.elements(), index])
    return relist(made, lists.lengths, lists.valid, call.data_type)


@lazy_function("ArrayFilter", result=same_as_first, nullable=like_first)
def keep(call: Call, rows: Rows) -> Value:
    """The elements for which the condition holds."""
    lists = _list(call.args[0], rows)
    parents, elements = lists.parents(), lists.elements()
    index = pa.array(lists.index().astype(np.int32))
    kept = truth(apply_lambda(lambda_of(call.args[1]), rows, parents, [elements, index]))
    lengths = np.bincount(parents[kept], minlength=rows.length)
    return relist(elements.filter(pa.array(kept)), lengths, lists.valid, call.data_type)


@lazy_function(
    "ArrayExists",
    result=always(t.BooleanType()),
    nullable=True,
    options=("followThreeValuedLogic",),
)
def exists(call: Call, rows: Rows) -> Value:
    """NULL where no element fulfils the condition but it is NULL for one, unless two values are asked for."""
    lists = _list(call.args[0], rows)
    found, unknown = _search(lists, call, rows, wanted=True)
    known = found | ~unknown if call.option("followThreeValuedLogic") is not False else None
    return build(found, both(lists.valid, known), pa.bool_())


@lazy_function("ArrayForAll", result=always(t.BooleanType()), nullable=True)
def for_all(call: Call, rows: Rows) -> Value:
    lists = _list(call.args[0], rows)
    failed, unknown = _search(lists, call, rows, wanted=False)
    return build(~failed, both(lists.valid, failed | ~unknown), pa.bool_())


def _search(lists: Lists, call: Call, rows: Rows, wanted: bool) -> tuple[Mask, Mask]:
    """The rows in which the condition is ``wanted`` for an element, and those in which it is NULL for one."""
    condition = lambda_of(call.args[1])
    if may_raise(condition):
        return _search_in_order(lists, condition, rows, wanted)
    parents = lists.parents()
    hits, missing = _decided(apply_lambda(condition, rows, parents, [lists.elements()]), wanted)
    return _among(parents[hits], rows.length), _among(parents[missing], rows.length)


def _decided(held: pa.Array, wanted: bool) -> tuple[Mask, Mask]:
    """Where a condition is ``wanted``, and where it is NULL."""
    known = np.asarray(held.fill_null(not wanted).to_numpy(zero_copy_only=False), np.bool_)
    return known == wanted, np.asarray(held.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _among(rows: Integers, length: int) -> Mask:
    mask = np.zeros(length, np.bool_)
    mask[rows] = True
    return mask


def _search_in_order(lists: Lists, condition: Call, rows: Rows, wanted: bool) -> tuple[Mask, Mask]:
    found, unknown = np.zeros(rows.length, np.bool_), np.zeros(rows.length, np.bool_)
    position = 0
    open_rows = np.flatnonzero(lists.lengths > 0)
    while len(open_rows):
        elements = lists.values.take(pa.array(lists.starts[open_rows] + position))
        hits, missing = _decided(apply_lambda(condition, rows, open_rows, [elements]), wanted)
        found[open_rows[hits]] = True
        unknown[open_rows[missing]] = True
        position += 1
        open_rows = open_rows[(lists.lengths[open_rows] > position) & ~hits]
    return found, unknown


def _either(args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
    return args[0].nullable or args[1].nullable


@lazy_function("ZipWith", result=_results, nullable=_either)
def zip_with(call: Call, rows: Rows) -> Value:
    """Elements of two arrays in pairs; those that are missing in the shorter one are NULL."""
    left, right = _list(call.args[0], rows), _list(call.args[1], rows)
    valid = both(left.valid, right.valid)
    lengths = np.maximum(left.lengths, right.lengths)
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    parents = np.repeat(np.arange(rows.length), lengths)
    index = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    sides = [_padded(side, parents, index) for side in (left, right)]
    made = apply_lambda(lambda_of(call.args[2]), rows, parents, sides)
    return relist(made, lengths, valid, call.data_type)


def _padded(lists: Lists, parents: Integers, index: Integers) -> pa.Array:
    inside = index < lists.lengths[parents]
    places = np.where(inside, lists.starts[parents] + index, 0)
    return lists.values.take(pa.array(places, mask=~inside))
