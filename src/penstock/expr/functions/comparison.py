"""Comparisons with Spark's order of values.

Arrow compares as Spark does but for floating point numbers: to Spark NaN equals NaN and is greater than
everything else. Strings and binary values compare by unsigned bytes in both, -0.0 equals 0.0 in both.
Structs compare field by field and arrays element by element, with NULL lowest and equal to NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.ranks import rank_together
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import widest_nullability
from penstock.expr.functions.vectors import as_array, both, build, valid_mask
from penstock.expr.nodes import Call, Expr

__all__ = ["equal", "greater", "less", "null_safe_equal"]


def _comparable(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    for arg in args:
        _check_order(arg.data_type)
    return t.BooleanType()


def _check_order(data_type: t.DataType) -> None:
    if isinstance(data_type, t.MapType):
        raise UnsupportedQuery(
            f"comparing values of type {data_type.simpleString()}",
            advice="Compare map_entries in the order of sort_array instead",
        )
    if isinstance(data_type, t.ArrayType):
        _check_order(data_type.elementType)
    if isinstance(data_type, t.StructType):
        for field in data_type.fields:
            _check_order(field.dataType)


def _has_nan(value: Value) -> bool:
    if not pa.types.is_floating(value.type):
        return False
    found = pc.is_nan(value)
    return bool((found if isinstance(value, pa.Scalar) else pc.any(found)).as_py())


def _is_struct(value: Value) -> bool:
    return bool(pa.types.is_struct(value.type))


def equal(left: Value, right: Value) -> Value:
    """``left = right``; NULL where either is."""
    if pa.types.is_nested(left.type):
        return _nested(left, right, _struct_equal if _is_struct(left) else _list_equal)
    result = pc.equal(left, right)
    if _has_nan(left) and _has_nan(right):
        result = pc.or_(result, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return result


def less(left: Value, right: Value) -> Value:
    """``left < right``; NULL where either is."""
    if pa.types.is_nested(left.type):
        return _nested(left, right, _struct_less if _is_struct(left) else _list_less)
    result = pc.less(left, right)
    if _has_nan(right):
        result = pc.or_(result, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return result


def greater(left: Value, right: Value) -> Value:
    """``left > right``; NULL where either is."""
    return less(right, left)


def null_safe_equal(left: Value, right: Value) -> Value:
    """``left <=> right``: NULL equals NULL and nothing else."""
    same = pc.fill_null(equal(left, right), False)
    return pc.or_(same, pc.and_(_is_null(left), _is_null(right)))


def _is_null(value: Value) -> Value:
    return pa.scalar(not value.is_valid) if isinstance(value, pa.Scalar) else pc.is_null(value)


def _nested(left: Value, right: Value, compare: Callable[[pa.Array, pa.Array], Value]) -> Value:
    """Nested values compared as arrays; two constants are arrays of one row."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return as_array(compare(as_array(left, 1), as_array(right, 1)), 1)[0]
    length = len(right) if isinstance(left, pa.Scalar) else len(left)
    return compare(as_array(left, length), as_array(right, length))


def _fields(left: pa.Array, right: pa.Array) -> list[tuple[pa.Array, pa.Array]]:
    return list(zip(left.flatten(), right.flatten(), strict=True))


def _both_valid(left: Value, right: Value, result: Value) -> Value:
    known = pc.invert(pc.or_(_is_null(left), _is_null(right)))
    return pc.if_else(known, result, pa.scalar(None, pa.bool_()))


def _by_rank(left: pa.Array, right: pa.Array, compare: Callable[..., Any]) -> Value:
    """Arrays are compared by rank, for there is no kernel that compares them."""
    ranks = rank_together([left, right])
    return build(compare(*ranks), both(valid_mask(left), valid_mask(right)), pa.bool_())


def _list_equal(left: pa.Array, right: pa.Array) -> Value:
    return _by_rank(left, right, np.equal)


def _list_less(left: pa.Array, right: pa.Array) -> Value:
    return _by_rank(left, right, np.less)


def _struct_equal(left: Value, right: Value) -> Value:
    result: Value = pa.scalar(True)
    for a, b in _fields(left, right):
        result = pc.and_(result, null_safe_equal(a, b))
    return _both_valid(left, right, result)


def _struct_less(left: Value, right: Value) -> Value:
    result: Value = pa.scalar(False)
    for a, b in reversed(_fields(left, right)):
        lower = pc.fill_null(less(a, b), False)
        lower = pc.or_(lower, pc.and_(pc.is_null(a), pc.is_valid(b)))
        result = pc.or_(lower, pc.and_(null_safe_equal(a, b), result))
    return _both_valid(left, right, result)


def _declare(name: str, compute: Callable[[Value, Value], Value]) -> None:
    def kernel(call: Call, args: list[Value], length: int) -> Value:
        return compute(*args)

    function(name, result=_comparable)(kernel)


_declare("EqualTo", equal)
_declare("LessThan", less)
_declare("GreaterThan", greater)
_declare("LessThanOrEqual", lambda left, right: pc.invert(less(right, left)))
_declare("GreaterThanOrEqual", lambda left, right: pc.invert(less(left, right)))


@function("EqualNullSafe", result=_comparable, strict=False, nullable=False)
def equal_null_safe(call: Call, args: list[Value], length: int) -> Value:
    return null_safe_equal(*args)


def _extreme_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    _comparable(args, options)
    result = args[0].data_type
    for arg in args[1:]:
        result = widest_nullability(result, arg.data_type)
    return result


@function("Greatest", "Least", result=_extreme_type, strict=False, nullable=True)
def extreme(call: Call, args: list[Value], length: int) -> Value:
    """NULLs are passed over; of equal values (-0.0 and 0.0) the first one stays."""
    replaces = greater if call.function == "Greatest" else less
    result = as_array(args[0], length)
    for arg in args[1:]:
        better = pc.or_(pc.fill_null(replaces(arg, result), False), pc.is_null(result))
        better = pc.and_(better, pc.invert(_is_null(arg)))
        result = pc.if_else(better, arg, result)
    return result
