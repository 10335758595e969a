"""Functions of maps that take a lambda function: filtering, changing keys and values, joining two maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.lambdas import apply_lambda, lambda_of, like_first, truth
from penstock.expr.functions.lists import Integers, Lists, remap
from penstock.expr.functions.maps import checked_map
from penstock.expr.functions.ranks import pairs, rank
from penstock.expr.functions.registry import Rows, Value, lazy_function
from penstock.expr.functions.rules import same_as_first
from penstock.expr.functions.vectors import as_array, both
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []


def _map(expr: Expr, rows: Rows) -> Lists:
    return Lists(as_array(rows.value(expr), rows.length))


def _map_type(expr: Expr) -> t.MapType:
    assert isinstance(expr.data_type, t.MapType)
    return expr.data_type


def _applied(call: Call, rows: Rows, lists: Lists) -> pa.Array:
    values = [lists.key_elements(), lists.elements()]
    return apply_lambda(lambda_of(call.args[1]), rows, lists.parents(), values)


@lazy_function("MapFilter", result=same_as_first, nullable=like_first)
def keep(call: Call, rows: Rows) -> Value:
    """The entries for which the condition holds."""
    lists = _map(call.args[0], rows)
    kept = truth(_applied(call, rows, lists))
    lengths = np.bincount(lists.parents()[kept], minlength=rows.length)
    keys, items = (part.filter(pa.array(kept)) for part in (lists.key_elements(), lists.elements()))
    return remap(keys, items, lengths, lists.valid, call.data_type)


def _new_values(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.MapType(_map_type(args[0]).keyType, args[1].data_type, args[1].nullable)


@lazy_function("TransformValues", result=_new_values, nullable=like_first)
def transform_values(call: Call, rows: Rows) -> Value:
    lists = _map(call.args[0], rows)
    made = _applied(call, rows, lists)
    return remap(lists.key_elements(), made, lists.lengths, lists.valid, call.data_type)


def _new_keys(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    kind = _map_type(args[0])
    return t.MapType(args[1].data_type, kind.valueType, kind.valueContainsNull)


@lazy_function("TransformKeys", result=_new_keys, nullable=like_first, raises=True, keyed=True)
def transform_keys(call: Call, rows: Rows) -> Value:
    lists = _map(call.args[0], rows)
    made = _applied(call, rows, lists)
    return checked_map(call, made, lists.elements(), lists.lengths, lists.valid)


def _zipped_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.MapType(_map_type(args[0]).keyType, args[2].data_type, args[2].nullable)


def _either(args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
    return args[0].nullable or args[1].nullable


@lazy_function("MapZipWith", result=_zipped_type, nullable=_either)
def zip_with(call: Call, rows: Rows) -> Value:
    """Every key of either map, those of the first one first; a map without the key gives NULL for it."""
    sides = [_map(arg, rows) for arg in call.args[:2]]
    valid = both(sides[0].valid, sides[1].valid)
    used = [_valid_entries(side, valid) for side in sides]
    keys = pa.concat_arrays(
        [side.key_elements().take(pa.array(kept)) for side, kept in zip(sides, used, strict=True)]
    )
    parents = np.concatenate([side.parents()[kept] for side, kept in zip(sides, used, strict=True)])
    _, first, entry = np.unique(pairs(parents, rank(keys)), return_index=True, return_inverse=True)
    # Entries in the order in which they first occur: by row, the first map before the second one.
    order = np.lexsort((first, parents[first]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    values, seen = [], 0
    for side, kept in zip(sides, used, strict=True):
        values.append(_placed(side.elements(), kept, place[entry[seen : seen + len(kept)]], len(order)))
        seen += len(kept)
    rows_of, keys = parents[first][order], keys.take(pa.array(first[order]))
    made = apply_lambda(lambda_of(call.args[2]), rows, rows_of, [keys, *values])
    lengths = np.bincount(rows_of, minlength=rows.length)
    return remap(keys, made, lengths, valid, call.data_type)


def _valid_entries(lists: Lists, valid: np.ndarray | None) -> Integers:
    parents = lists.parents()
    return np.arange(len(parents)) if valid is None else np.flatnonzero(valid[parents])


def _placed(values: pa.Array, chosen: Integers, places: Integers, length: int) -> pa.Array:
    """The values ``chosen``, each at its place in a column that is NULL elsewhere."""
    index, missing = np.zeros(length, np.int64), np.ones(length, np.bool_)
    index[places], missing[places] = chosen, False
    return values.take(pa.array(index, mask=missing))
