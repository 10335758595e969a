"""Top-k: all rows of a key on one worker, in order."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import DataType

from penstock.circuit import operators as op
from penstock.circuit.ordering import OrderBy, Ordering
from penstock.expr.nodes import Column, Expr
from penstock.expr.types import arrow_schema
from penstock.sql import plan as p
from penstock.sql.planning.stream import PlannerScope, Stream, column, moved

__all__ = ["Extended", "chosen", "key_partitioning", "top_k"]


class Extended:
    """A plan's stream with additional columns for expressions."""

    def __init__(self, scope: PlannerScope, plan: p.Plan) -> None:
        self._scope, self._plan = scope, plan
        self.columns: list[Expr] = [column(i, field) for i, field in enumerate(plan.schema)]

    def ordinal(self, expr: Expr) -> int:
        """The position of the column that holds an expression over the plan's columns."""
        if expr not in self.columns:
            self.columns.append(expr)
        return self.columns.index(expr)

    def ordering(self, keys: tuple[p.SortKey, ...]) -> Ordering:
        """An ORDER BY over the columns."""
        return Ordering(
            tuple(OrderBy(self.ordinal(key.expr), not key.ascending, key.nulls_first) for key in keys)
        )

    @property
    def fields(self) -> list[tuple[str, DataType]]:
        """Names and types of the columns."""
        names = [field.name for field in self._plan.schema]
        names += [f"value{i}" for i in range(len(names), len(self.columns))]
        return [(name, expr.data_type) for name, expr in zip(names, self.columns, strict=True)]

    def stream(self) -> Stream:
        """The stream of the plan with the columns asked for so far."""
        child = self._scope.compile(self._plan)
        width = len(self._plan.schema)
        if len(self.columns) == width:
            return child
        node = self._scope.builder.add(
            op.Project(arrow_schema(self.fields), tuple(self.columns)),
            (child.node,),
        )
        return Stream(node, moved(child.partitioned_by, {i: i for i in range(width)}))


def top_k(scope: PlannerScope, plan: p.TopK) -> Stream:
    """Rows at certain positions of their key's order."""
    extended = Extended(scope, plan.child)
    ordering = extended.ordering(plan.order)
    width, below = len(plan.child.schema), extended.fields
    numbers = [(field.name, field.data_type) for field in plan.schema[width:]]
    index, exchange = scope.index(
        extended.stream(), arrow_schema(below), plan.keys, (False,) * len(plan.keys)
    )
    limited = op.TopK
    if plan.limit is not None and scope.builder.is_insert_only(index):
        limited = op.AppendTopK
        first = op.PartialTopK(arrow_schema(below), ordering, plan.offset + plan.limit)
        index = scope.builder.add(first, (index,))
    operator = limited(
        arrow_schema([*below, *numbers]), ordering, plan.offset, plan.limit, numbers=plan.numbers
    )
    node = scope.builder.add(operator, (index,), (exchange,))
    if len(below) > width:
        wanted = [*range(width), *range(len(below), len(below) + len(numbers))]
        node = scope.builder.add(chosen(plan.schema, wanted), (node,))
    return Stream(node, key_partitioning(plan.keys))


def chosen(fields: Sequence[p.Field], ordinals: Sequence[int]) -> op.Project:
    """A projection to some columns, which are described by ``fields``."""
    exprs = tuple(column(ordinal, field) for ordinal, field in zip(ordinals, fields, strict=True))
    return op.Project(arrow_schema([(field.name, field.data_type) for field in fields]), exprs)


def key_partitioning(keys: tuple[Expr, ...]) -> tuple[int, ...] | None:
    """The columns by which rows are partitioned once they are indexed by ``keys``, if keys are columns."""
    ordinals = tuple(key.ordinal for key in keys if isinstance(key, Column))
    return ordinals if ordinals and len(ordinals) == len(keys) else None
