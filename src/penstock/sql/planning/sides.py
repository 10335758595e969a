"""The two sides of a join: which of their rows can match, and how they are arranged.

With keys, a side is arranged by them on the worker that owns the key. Without, all rows have the same (empty)
key and go to one worker, unless one side is known to have only a few rows (the value of a subquery): then
those are copied to every shard and the other side stays partitioned as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BooleanType

from penstock.circuit import operators as op
from penstock.expr.evaluate import may_raise
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.types import arrow_schema
from penstock.sql import plan as p
from penstock.sql.imported import conjunction, conjuncts, rebound
from penstock.sql.planning.stream import (
    PlannerScope,
    Stream,
    is_partitioned_by,
    renumbered,
    schema_of,
)

__all__ = [
    "Arrangement",
    "Side",
    "arrange",
    "arrange_for_verdict",
    "arranged_by_key",
    "key_columns",
    "most_rows",
    "sides_of",
]

_TRUE = Literal(BooleanType(), False, True)
_FEW = 8


@dataclass(frozen=True)
class Side:
    """One side of a join. ``stream`` holds the rows that can match, except for those with a NULL in a key
    whose ``drop`` is set. ``tests`` decides whether a row can match, if not all can. ``offset`` is the number
    of its first column among those of the join, and ``residual`` the condition on both sides' columns.
    """

    plan: p.Plan
    stream: Stream
    keys: tuple[Expr, ...]
    drop: tuple[bool, ...]
    tests: Expr | None
    offset: int
    residual: Expr | None

    @cached_property
    def schema(self) -> pa.Schema:
        """The side's columns."""
        return schema_of(self.plan)

    @property
    def width(self) -> int:
        """The number of its columns."""
        return len(self.plan.schema)

    def column(self, ordinal: int) -> Column:
        """One of its columns."""
        field = self.plan.schema[ordinal]
        return Column(field.data_type, field.nullable, ordinal, field.name)

    def others(self, scope: PlannerScope) -> int:
        """The rows that cannot match."""
        assert self.tests is not None
        holds = Call(BooleanType(), False, "EqualNullSafe", (self.tests, _TRUE))
        predicate = Call(BooleanType(), False, "Not", (holds,))
        return scope.builder.add(op.Filter(self.schema, predicate), (scope.compile(self.plan).node,))

    def residual_before(self, other: Side) -> Expr | None:
        """The condition over this side's columns followed by the other's."""
        if self.residual is None or self.offset == 0:
            return self.residual
        positions = {self.offset + i: i for i in range(self.width)}
        positions |= {other.offset + i: self.width + i for i in range(other.width)}
        return renumbered(self.residual, positions)


@dataclass(frozen=True)
class Arrangement:
    """Nodes for the inputs of a join. Its output is partitioned by the left columns ``partitioned_by``."""

    left: int
    right: int
    partitioned_by: tuple[int, ...] | None
    exchanged: tuple[bool, bool] = (False, False)


def sides_of(scope: PlannerScope, plan: p.Join, *, apart: bool = True) -> tuple[Side, Side]:
    """The sides of a join. With ``apart``, rows that cannot match are separated: conditions on one side only
    (which the optimiser leaves in the join if that side is preserved) are removed from the residual. A
    condition that may fail stays: it must not be evaluated on rows on which Spark would not evaluate it."""
    width = len(plan.left.schema)
    lefts = {i: i for i in range(width)}
    rights = {width + i: i for i in range(len(plan.right.schema))}
    own: tuple[list[Expr], list[Expr]] = ([], [])
    rest: list[Expr] = []
    for part in conjuncts(plan.condition) if plan.condition is not None else []:
        on_left, on_right = rebound(part, lefts), rebound(part, rights)
        if apart and on_left is not None and not may_raise(part):
            own[0].append(on_left)
        elif apart and on_right is not None and not may_raise(part):
            own[1].append(on_right)
        else:
            rest.append(part)
    residual = conjunction(rest)
    drop = tuple(not safe for safe in plan.null_safe)
    return (
        _side(scope, plan.left, plan.left_keys, drop, own[0], 0, residual),
        _side(scope, plan.right, plan.right_keys, drop, own[1], width, residual),
    )


def _side(
    scope: PlannerScope,
    plan: p.Plan,
    keys: tuple[Expr, ...],
    drop: tuple[bool, ...],
    own: list[Expr],
    offset: int,
    residual: Expr | None,
) -> Side:
    stream = scope.compile(plan)
    condition = conjunction(own)
    if condition is not None:
        node = scope.builder.add(op.Filter(schema_of(plan), condition), (stream.node,))
        stream = Stream(node, stream.partitioned_by)
    not_null = [
        Call(BooleanType(), False, "IsNotNull", (key,))
        for key, dropped in zip(keys, drop, strict=True)
        if dropped and key.nullable
    ]
    return Side(plan, stream, keys, drop, conjunction([*not_null, *own]), offset, residual)


def arrange(scope: PlannerScope, left: Side, right: Side, *, few: tuple[bool, bool]) -> Arrangement:
    """Both sides arranged. ``few`` says which of them may be copied to every shard if it is small; a side
    whose unmatched rows are needed may not, as each would appear once per shard."""
    if left.keys:
        return Arrangement(arranged_by_key(scope, left), arranged_by_key(scope, right), key_columns(left))
    if few[1] and _is_small(right.plan):
        node, partitioned_by = _scattered(scope, left)
        return Arrangement(node, _copied(scope, right.stream.node, right.schema), partitioned_by)
    if few[0] and _is_small(left.plan):
        node, partitioned_by = _scattered(scope, right)
        partitioned_by = tuple(right.offset + i for i in partitioned_by)
        return Arrangement(_copied(scope, left.stream.node, left.schema), node, partitioned_by)
    return Arrangement(arranged_by_key(scope, left), arranged_by_key(scope, right), None)


def arrange_for_verdict(scope: PlannerScope, left: Side, right: Side) -> Arrangement:
    """The left side arranged and the right one counted by key: only the number of its rows matters."""
    rows = right.stream
    for key, dropped in zip(right.keys, right.drop, strict=True):
        if dropped and key.nullable:
            test = Call(BooleanType(), False, "IsNotNull", (key,))
            rows = Stream(scope.builder.add(op.Filter(right.schema, test), (rows.node,)), rows.partitioned_by)
    key_schema = arrow_schema([(f"key{i}", key.data_type) for i, key in enumerate(right.keys)])
    counts = scope.builder.add(op.PartialAggregate(key_schema, right.keys, ()), (rows.node,))
    if left.keys:
        exchanged = (False, not is_partitioned_by(rows, right.keys))
        return Arrangement(arranged_by_key(scope, left), counts, key_columns(left), exchanged)
    # Without keys the result depends on whether there is any right row: one bit, which is sent to every
    # shard.
    some = scope.builder.add(op.Distinct(key_schema), (counts,), (True,))
    node, partitioned_by = _scattered(scope, left)
    return Arrangement(node, scope.builder.add(op.Copy(key_schema), (some,)), partitioned_by, (False, True))


def arranged_by_key(scope: PlannerScope, side: Side) -> int:
    """A side on the workers that own its keys."""
    return scope.arranged(side.stream, side.schema, side.keys, side.drop)


def key_columns(side: Side) -> tuple[int, ...] | None:
    """The columns that are the keys, if the keys are columns: rows are partitioned by them."""
    ordinals = tuple(key.ordinal for key in side.keys if isinstance(key, Column))
    return ordinals if len(ordinals) == len(side.keys) else None


def _scattered(scope: PlannerScope, side: Side) -> tuple[int, tuple[int, ...]]:
    """A side arranged by the shards its rows are in, and the columns that determine the shard."""
    partitioned_by = side.stream.partitioned_by
    by = tuple(range(side.width)) if partitioned_by is None else partitioned_by
    index = scope.builder.add(op.Scatter(side.schema, by), (side.stream.node,))
    return scope.builder.add(op.Arrange(side.schema), (index,), (partitioned_by is None,)), by


def _copied(scope: PlannerScope, node: int, schema: pa.Schema) -> int:
    copies = scope.builder.add(op.Copy(schema), (node,))
    return scope.builder.add(op.Arrange(schema), (copies,), (True,))


def _is_small(plan: p.Plan) -> bool:
    rows = most_rows(plan)
    return rows is not None and rows <= _FEW


def most_rows(plan: p.Plan) -> int | None:
    """An upper bound of the number of rows of a plan, if it follows from the plan alone."""
    bound = _BOUNDS.get(type(plan))
    return None if bound is None else bound(plan)


def _most_of_join(plan: p.Join) -> int | None:
    left, right = most_rows(plan.left), most_rows(plan.right)
    if plan.kind in ("semi", "anti", "existence", "single"):
        return left
    if left is None or right is None:
        return None
    most = {"inner": left * right, "left": left * max(right, 1), "full": left * right + left + right}
    return most[plan.kind]


def _most_of_union(plan: p.Union) -> int | None:
    parts = [most_rows(child) for child in plan.children]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


_BOUNDS: Mapping[type[p.Plan], Callable[[Any], int | None]] = {
    p.Values: lambda plan: len(plan.rows),
    p.Project: lambda plan: most_rows(plan.child),
    p.Filter: lambda plan: most_rows(plan.child),
    p.Distinct: lambda plan: most_rows(plan.child),
    p.Aggregate: lambda plan: most_rows(plan.child) if plan.keys else 1,
    p.SingleRow: lambda plan: 1,
    p.TopK: lambda plan: most_rows(plan.child) if plan.keys or plan.limit is None else plan.limit,
    p.Join: _most_of_join,
    p.Union: _most_of_union,
}
