"""Scalar expressions as frozen trees, bound to column positions.

An expression is one of three nodes. ``Column`` reads a column of the input by position, ``Literal`` is a
constant, and ``Call`` applies a named function to arguments. Names of functions are Catalyst's class
names (``Add``, ``EqualTo``, ``Substring``), because Catalyst has already resolved, typed and coerced the
query: a ``Call`` carries its result type and needs no further analysis.

Two structurally equal expressions are equal as Python objects, which is what lets the planner share
identical subplans between views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import DataType

__all__ = ["Call", "Column", "Expr", "Literal", "columns_read"]


@dataclass(frozen=True, slots=True)
class Expr:
    """Base of all expressions: knows its Spark type and whether it can be NULL."""

    data_type: DataType
    nullable: bool

    def __str__(self) -> str:
        """The expression as SQL, for people. (Imported late: the text is written in terms of nodes.)"""
        from penstock.expr.text import sql_text

        return sql_text(self)


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """The value of the input's column at ``ordinal``. ``name`` is for people only."""

    ordinal: int
    name: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expr):
    """A constant. ``value`` is the plain Python value that Arrow would take for this type, or None.

    Constants are equal if they are written alike. Python's own equality takes -0.0 for 0.0, which a sum or a
    product tells apart, and NaN for a stranger to itself.
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and self.data_type == other.data_type
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((self.data_type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """``function`` applied to ``args``. ``options`` holds what Catalyst keeps beside the arguments
    (time zone, escape character, evaluation mode), as sorted ``(name, value)`` pairs."""

    function: str
    args: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str, default: Any = None) -> Any:
        """The value of one option, or ``default``."""
        for key, value in self.options:
            if key == name:
                return value
        return default


def columns_read(*exprs: Expr) -> set[int]:
    """The columns that expressions read."""
    found: set[int] = set()
    for expr in exprs:
        if isinstance(expr, Column):
            found.add(expr.ordinal)
        elif isinstance(expr, Call):
            found |= columns_read(*expr.args)
    return found
