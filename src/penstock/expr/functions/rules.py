"""Result types, as Catalyst derives them: ``toJSON`` leaves them out of all nodes that are not leaves.

Every rule has the form ``(args, options) -> DataType``. The decimal rules are Spark's, with loss of
precision allowed, which is its default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.registry import TypeRule
from penstock.expr.nodes import Expr, Literal

__all__ = [
    "MAX_PRECISION",
    "adjusted_decimal",
    "always",
    "bounded_decimal",
    "decimal_of",
    "literal_of",
    "same_as_first",
    "same_as_second",
    "widest_nullability",
]

MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


def always(data_type: t.DataType) -> TypeRule:
    """The rule for a function whose result always has the same type."""

    def rule(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
        return data_type

    return rule


def same_as_first(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    """The type of the first argument."""
    return args[0].data_type


def same_as_second(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    """The type of the second argument."""
    return args[1].data_type


def adjusted_decimal(precision: int, scale: int) -> t.DecimalType:
    """A decimal of at most 38 digits: digits after the point give way first, down to six of them."""
    if precision <= MAX_PRECISION:
        return t.DecimalType(precision, scale)
    whole = precision - scale
    return t.DecimalType(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _MIN_ADJUSTED_SCALE)))


def bounded_decimal(precision: int, scale: int) -> t.DecimalType:
    """A decimal whose precision and scale are cut off at 38."""
    return t.DecimalType(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def decimal_of(expr: Expr) -> tuple[int, int]:
    """Precision and scale of a decimal expression."""
    assert isinstance(expr.data_type, t.DecimalType), expr
    return expr.data_type.precision, expr.data_type.scale


def literal_of(expr: Expr, function: str, what: str) -> Any:
    """The value of an argument that must be a constant; refuses the query if it is not one."""
    if not isinstance(expr, Literal):
        raise UnsupportedQuery(
            f"{function} with a {what} that is not a constant", advice=f"Write the {what} as a literal"
        )
    return expr.value


def widest_nullability(left: t.DataType, right: t.DataType) -> t.DataType:
    """Two nested types that differ only in what can be NULL, as one type that allows both."""
    if isinstance(left, t.ArrayType) and isinstance(right, t.ArrayType):
        element = widest_nullability(left.elementType, right.elementType)
        return t.ArrayType(element, left.containsNull or right.containsNull)
    if isinstance(left, t.MapType) and isinstance(right, t.MapType):
        key = widest_nullability(left.keyType, right.keyType)
        value = widest_nullability(left.valueType, right.valueType)
        return t.MapType(key, value, left.valueContainsNull or right.valueContainsNull)
    if isinstance(left, t.StructType) and isinstance(right, t.StructType):
        return t.StructType(
            [
                t.StructField(a.name, widest_nullability(a.dataType, b.dataType), a.nullable or b.nullable)
                for a, b in zip(left.fields, right.fields, strict=True)
            ]
        )
    return right if isinstance(left, t.NullType) else left
