"""Joins: both sides arranged by the join keys on the worker that owns the key."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.circuit import operators as op
from penstock.errors import UnsupportedQuery
from penstock.expr.nodes import Column
from penstock.sql import plan as p
from penstock.sql.planning.stream import PlannerScope, Stream, moved, schema_of

__all__ = ["join", "join_keeping"]


def join(scope: PlannerScope, plan: p.Join) -> Stream:
    """A join with all its columns."""
    return join_keeping(scope, plan, range(len(plan.schema)))[0]


def join_keeping(scope: PlannerScope, plan: p.Join, keep: Sequence[int]) -> tuple[Stream, dict[int, int]]:
    """The join with the columns ``keep`` only, and where each of them is in the output."""
    if plan.kind != "inner":
        raise UnsupportedQuery(f"a {plan.kind} join", reason="not supported yet")
    drop = tuple(not safe for safe in plan.null_safe)
    left = scope.arranged(scope.compile(plan.left), schema_of(plan.left), plan.left_keys, drop)
    right = scope.arranged(scope.compile(plan.right), schema_of(plan.right), plan.right_keys, drop)
    schema = pa.schema([schema_of(plan).field(i) for i in keep])
    places = {ordinal: i for i, ordinal in enumerate(keep)}
    node = scope.builder.add(op.Join(schema, plan.condition, tuple(keep)), (left, right))
    ordinals = tuple(key.ordinal for key in plan.left_keys if isinstance(key, Column))
    spread = ordinals if ordinals and len(ordinals) == len(plan.left_keys) else None
    return Stream(node, moved(spread, places)), places
