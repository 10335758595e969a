"""AND, OR, NOT with three truth values, and the tests for NULL and NaN.

``false AND x`` does not evaluate ``x``, nor does ``true OR x``: where the right side may raise, it is
computed only for the rows that the left side leaves open.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.registry import Rows, Value, function, lazy_function, may_raise
from penstock.expr.functions.rules import always, same_as_first
from penstock.expr.functions.vectors import as_array, valid_mask
from penstock.expr.nodes import Call

__all__ = ["scatter"]

_BOOLEAN = always(t.BooleanType())


def scatter(values: Value, indices: np.ndarray, length: int) -> pa.Array:
    """``values`` put at ``indices`` of a column that is NULL elsewhere."""
    position = np.zeros(length, np.int64)
    missing = np.ones(length, np.bool_)
    position[indices] = np.arange(len(indices))
    missing[indices] = False
    return as_array(values, len(indices)).take(pa.array(position, mask=missing))


@lazy_function("And", "Or", result=_BOOLEAN)
def connect(call: Call, rows: Rows) -> Value:
    """A right side that is skipped counts as NULL, which the deciding left side outweighs."""
    conjunction = call.function == "And"
    combine = pc.and_kleene if conjunction else pc.or_kleene
    left = rows.value(call.args[0])
    if not may_raise(call.args[1]):
        return combine(left, rows.value(call.args[1]))
    decided = pc.fill_null(pc.invert(left) if conjunction else left, False)
    open_rows = np.flatnonzero(~np.asarray(as_array(decided, rows.length).to_numpy(zero_copy_only=False)))
    if len(open_rows) == rows.length:
        return combine(left, rows.value(call.args[1]))
    if len(open_rows) == 0:
        return left
    right = rows.at(open_rows).value(call.args[1])
    return combine(left, scatter(right, open_rows, rows.length))


@function("Not", result=_BOOLEAN)
def negate(call: Call, args: list[Value], length: int) -> Value:
    return pc.invert(args[0])


@function("IsNull", "IsNotNull", result=_BOOLEAN, strict=False, nullable=False)
def is_null(call: Call, args: list[Value], length: int) -> Value:
    return (pc.is_null if call.function == "IsNull" else pc.is_valid)(args[0])


@function("IsNaN", result=_BOOLEAN, strict=False, nullable=False)
def is_nan(call: Call, args: list[Value], length: int) -> Value:
    return pc.fill_null(pc.is_nan(args[0]), False)


@lazy_function("NaNvl", result=same_as_first, nullable=True)
def nan_value(call: Call, rows: Rows) -> Value:
    """The second argument is computed only where the first is NaN, if it may raise."""
    left = as_array(rows.value(call.args[0]), rows.length)
    is_nan = pc.fill_null(pc.is_nan(left), False)
    if not may_raise(call.args[1]):
        return pc.if_else(is_nan, rows.value(call.args[1]), left)
    places = np.flatnonzero(is_nan.to_numpy(zero_copy_only=False))
    if not len(places):
        return left
    return pc.if_else(is_nan, scatter(rows.at(places).value(call.args[1]), places, rows.length), left)


@function("AtLeastNNonNulls", result=_BOOLEAN, strict=False, nullable=False, options=("n",))
def at_least_n_non_nulls(call: Call, args: list[Value], length: int) -> Value:
    """NaN counts as missing, as in ``dropna``."""
    count = np.zeros(length, np.int64)
    for arg in args:
        array = as_array(arg, length)
        if pa.types.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        mask = valid_mask(array)
        count += 1 if mask is None else mask
    return pa.array(count >= call.option("n"))
