"""What importers of single plan nodes pass to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pyspark.sql.types import BooleanType, StructType

from penstock.expr.nodes import Call, Column, Expr, Literal, columns_read, rewritten
from penstock.sql.plan import Field, Plan, SortKey
from penstock.sql.schemas import contains_float
from penstock.sql.tree import Node

__all__ = [
    "ImportScope",
    "Imported",
    "column",
    "columns_of",
    "conjunction",
    "conjuncts",
    "normalised",
    "own_reference",
    "rebound",
    "substituted",
]


@dataclass(frozen=True)
class Imported:
    """A plan, the Catalyst ids of its columns, and the order an ORDER BY asked for.

    ``order_text`` is that ORDER BY as written; with no keys in ``order`` it is one whose columns a
    projection dropped.
    """

    plan: Plan
    ids: tuple[int, ...]
    order: tuple[SortKey, ...] = ()
    order_text: str = ""

    @property
    def columns(self) -> dict[int, Column]:
        """The output columns by Catalyst id."""
        return columns_of(self)


class ImportScope(Protocol):
    """What an importer of one node may ask for (:class:`penstock.sql.importer.Importer`)."""

    @property
    def view(self) -> str: ...

    @property
    def relations(self) -> Mapping[str, StructType]: ...

    @property
    def ansi(self) -> bool: ...

    @property
    def timezone(self) -> str: ...

    @property
    def shortest(self) -> bool: ...

    @property
    def python_conf(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def keys(self) -> Mapping[str, tuple[int, ...]]: ...

    def note(self, node: Node, construct: str, text: str, *, leaves_open: bool = True) -> None: ...

    def local_rows(self, relation: Any) -> tuple[StructType, tuple[tuple[Any, ...], ...]]: ...

    def plan(self, node: Node) -> Imported: ...

    def expr(self, node: Node, columns: Mapping[int, Column]) -> Expr: ...


def columns_of(*inputs: Imported) -> dict[int, Column]:
    """The columns of the inputs side by side, by Catalyst id."""
    columns: dict[int, Column] = {}
    ordinal = 0
    for item in inputs:
        for id_, field in zip(item.ids, item.plan.schema, strict=True):
            columns[id_] = column(ordinal, field)
            ordinal += 1
    return columns


def column(ordinal: int, field: Field) -> Column:
    """The column at ``ordinal``, described by ``field``."""
    return Column(field.data_type, field.nullable, ordinal, field.name)


def own_reference(ordinal: int, field: Field, columns: dict[int, Column], twin: Callable[[], Any]) -> Node:
    """A reference, in Catalyst's form, to a column that importing made, which is put among ``columns``.

    Its id is negative: Catalyst's own are not.
    """
    id_ = -1 - ordinal
    columns[id_] = column(ordinal, field)
    fields = {
        "class": "org.apache.spark.sql.catalyst.expressions.AttributeReference",
        "num-children": 0,
        "name": field.name,
        "dataType": field.data_type.jsonValue(),
        "nullable": field.nullable,
        "metadata": {},
        "exprId": {"id": id_},
        "qualifier": [],
    }
    return Node("AttributeReference", fields, (), twin)


def normalised(expr: Expr) -> Expr:
    """``expr`` with zero and NaN normalised, where it can have several bit patterns."""
    if isinstance(expr, Literal) or not contains_float(expr.data_type):
        return expr
    return Call(expr.data_type, expr.nullable, "NormalizeNaNAndZero", (expr,))


def substituted(expr: Expr, exprs: tuple[Expr, ...]) -> Expr:
    """``expr`` over the input of a projection, where it was over the projection's output ``exprs``."""
    return rewritten(expr, lambda part: exprs[part.ordinal] if isinstance(part, Column) else None)


def rebound(expr: Expr, ordinals: Mapping[int, int]) -> Expr | None:
    """``expr`` with its columns renumbered; None if it reads a column that has no new number."""
    if not ordinals.keys() >= columns_read(expr):
        return None
    return rewritten(
        expr, lambda part: replace(part, ordinal=ordinals[part.ordinal]) if isinstance(part, Column) else None
    )


def conjuncts(expr: Expr) -> list[Expr]:
    """The conditions that an AND of any shape joins, in order."""
    found: list[Expr] = []
    rest = [expr]
    while rest:
        part = rest.pop()
        if isinstance(part, Call) and part.function == "And":
            rest += reversed(part.args)
        else:
            found.append(part)
    return found


def conjunction(exprs: Sequence[Expr]) -> Expr | None:
    """The AND of conditions, in order; None of none."""
    if not exprs:
        return None
    result = exprs[0]
    for expr in exprs[1:]:
        result = Call(BooleanType(), result.nullable or expr.nullable, "And", (result, expr))
    return result
