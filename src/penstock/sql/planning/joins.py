"""Joins of all kinds, built from two operators.

*Join* emits the matching pairs and *SemiJoin* the rows of one side that have a match or have none. Semi, anti
and existence joins are the latter; an outer join is the sum of the pairs and of the rows without a match,
with NULLs. Both sides are arranged by the join keys on the worker that owns the key, and inner, outer and
semi joins on the same keys share these arrangements.

Rows of a preserved side that cannot match whatever the other side holds (a NULL in a key, or a condition on
their own columns that does not hold) bypass the join: no state, and no worker that gets all the NULLs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import BooleanType

from penstock.circuit import operators as op
from penstock.expr.nodes import Column, Expr, Literal, columns_read
from penstock.sql import plan as p
from penstock.sql.planning.sides import (
    Arrangement,
    Side,
    arrange,
    arrange_for_verdict,
    arranged_by_key,
    key_columns,
    sides_of,
)
from penstock.sql.planning.stream import (
    PlannerScope,
    Stream,
    moved,
    renumbered,
    schema_of,
)

__all__ = ["join", "join_keeping", "single_row"]

_WANTED: Mapping[str, op.Wanted] = {"semi": "matched", "anti": "unmatched", "existence": "flagged"}
_FALSE = Literal(BooleanType(), False, False)


def join(scope: PlannerScope, plan: p.Join) -> Stream:
    """A join with all its columns."""
    return join_keeping(scope, plan, range(len(plan.schema)))[0]


def join_keeping(scope: PlannerScope, plan: p.Join, keep: Sequence[int]) -> tuple[Stream, dict[int, int]]:
    """The join with the columns ``keep`` only, and where each of them is in the output."""
    positions = {ordinal: i for i, ordinal in enumerate(keep)}
    fields = tuple(plan.schema[i] for i in keep)
    kept = _Kept(tuple(keep), fields, pa.schema([schema_of(plan).field(i) for i in keep]), positions)
    return _KINDS[plan.kind](scope, plan, kept), positions


def single_row(scope: PlannerScope, plan: p.SingleRow) -> Stream:
    """A scalar subquery: its rows go to one worker, which checks that there is at most one."""
    schema = schema_of(plan)
    index, _ = scope.index(scope.compile(plan.child), schema, (), ())
    return Stream(scope.builder.add(op.SingleRow(schema), (index,), (True,)), None)


@dataclass(frozen=True)
class _Kept:
    """The columns of a join that its output has, and where."""

    ordinals: tuple[int, ...]
    fields: tuple[p.Field, ...]
    schema: pa.Schema
    positions: Mapping[int, int]


def _inner(scope: PlannerScope, plan: p.Join, kept: _Kept) -> Stream:
    if not plan.left_keys:
        plan, kept = _narrowed(plan, kept)
    left, right = sides_of(scope, plan, apart=False)
    static = tuple(scope.builder.is_static(side.stream.node) for side in (left, right))
    if plan.left_keys and static in ((False, True), (True, False)):
        return _looked_up(scope, *((left, right) if static[1] else (right, left)), kept)
    arranged = arrange(scope, left, right, few=(True, True))
    node = _pairs(scope, arranged, plan.condition, kept)
    return Stream(node, moved(arranged.partitioned_by, kept.positions))


def _looked_up(scope: PlannerScope, moving: Side, static: Side, kept: _Kept) -> Stream:
    """Pairs of a changing side with a static one."""
    index, exchange = scope.index(moving.stream, moving.schema, moving.keys, moving.drop)
    positions = {moving.offset + i: i for i in range(moving.width)}
    positions |= {static.offset + i: moving.width + i for i in range(static.width)}
    keep = tuple(positions[ordinal] for ordinal in kept.ordinals)
    operator = op.LookupJoin(kept.schema, moving.residual_before(static), keep)
    node = scope.builder.add(operator, (index, arranged_by_key(scope, static)), (exchange, False))
    partitioned_by = key_columns(moving)
    if partitioned_by is not None:
        partitioned_by = tuple(moving.offset + ordinal for ordinal in partitioned_by)
    return Stream(node, moved(partitioned_by, kept.positions))


def _narrowed(plan: p.Join, kept: _Kept) -> tuple[p.Join, _Kept]:
    """A join without keys whose sides have no columns but those it needs. Below a subquery that is joined in,
    the optimiser did not see to that; and the arrangements of such a join are its own anyway."""
    tested = columns_read(plan.condition) if plan.condition else ()
    needed = sorted({*kept.ordinals, *tested})
    if len(needed) == len(plan.schema):
        return plan, kept
    width = len(plan.left.schema)
    positions = {ordinal: i for i, ordinal in enumerate(needed)}
    narrow = p.Join(
        tuple(plan.schema[i] for i in needed),
        _with_columns(plan.left, [i for i in needed if i < width]),
        _with_columns(plan.right, [i - width for i in needed if i >= width]),
        plan.kind,
        (),
        (),
        (),
        None if plan.condition is None else renumbered(plan.condition, positions),
    )
    ordinals = tuple(positions[i] for i in kept.ordinals)
    return narrow, _Kept(ordinals, kept.fields, kept.schema, {o: i for i, o in enumerate(ordinals)})


def _with_columns(plan: p.Plan, ordinals: Sequence[int]) -> p.Plan:
    if len(ordinals) == len(plan.schema):
        return plan
    fields = tuple(plan.schema[i] for i in ordinals)
    exprs = tuple(Column(f.data_type, f.nullable, i, f.name) for i, f in zip(ordinals, fields, strict=True))
    return p.Project(fields, plan, exprs)


def _left(scope: PlannerScope, plan: p.Join, kept: _Kept) -> Stream:
    left, right = sides_of(scope, plan)
    arranged = arrange(scope, left, right, few=(False, True))
    single = plan.kind == "single"
    parts = [
        _pairs(scope, arranged, left.residual, kept),
        _unmatched(scope, left, arranged, left.residual, kept, single),
    ]
    if left.tests is not None:
        parts.append(_beside_nulls(scope, left, left.others(scope), range(left.width), kept))
    node = scope.builder.add(op.Union(kept.schema), tuple(parts))
    return Stream(node, moved(arranged.partitioned_by, kept.positions) if left.tests is None else None)


def _full(scope: PlannerScope, plan: p.Join, kept: _Kept) -> Stream:
    left, right = sides_of(scope, plan)
    arranged = arrange(scope, left, right, few=(False, False))
    mirrored = Arrangement(arranged.right, arranged.left, None)
    parts = [
        _pairs(scope, arranged, left.residual, kept),
        _unmatched(scope, left, arranged, left.residual, kept),
        _unmatched(scope, right, mirrored, right.residual_before(left), kept),
    ]
    for side in (left, right):
        if side.tests is not None:
            parts.append(_beside_nulls(scope, side, side.others(scope), range(side.width), kept))
    return Stream(scope.builder.add(op.Union(kept.schema), tuple(parts)), None)


def _verdict(scope: PlannerScope, plan: p.Join, kept: _Kept) -> Stream:
    """Semi, anti and existence joins."""
    left, right = sides_of(scope, plan)
    if left.residual is None:
        arranged = arrange_for_verdict(scope, left, right)
    else:
        arranged = arrange(scope, left, right, few=(False, True))
    node = _semi_join(scope, arranged, left.residual, _WANTED[plan.kind], kept.schema, kept.ordinals)
    partitioned_by = moved(arranged.partitioned_by, kept.positions)
    if plan.kind == "semi" or left.tests is None:
        return Stream(node, partitioned_by)
    exprs = tuple(left.column(i) if i < left.width else _FALSE for i in kept.ordinals)
    rest = scope.builder.add(op.Project(kept.schema, exprs), (left.others(scope),))
    return Stream(scope.builder.add(op.Union(kept.schema), (node, rest)), None)


_KINDS: Mapping[str, Callable[[PlannerScope, p.Join, _Kept], Stream]] = {
    "inner": _inner,
    "left": _left,
    "single": _left,
    "full": _full,
    "semi": _verdict,
    "anti": _verdict,
    "existence": _verdict,
}


def _pairs(scope: PlannerScope, arranged: Arrangement, condition: Expr | None, kept: _Kept) -> int:
    operator = op.Join(kept.schema, condition, kept.ordinals)
    return scope.builder.add(operator, (arranged.left, arranged.right), arranged.exchanged)


def _semi_join(
    scope: PlannerScope,
    arranged: Arrangement,
    condition: Expr | None,
    wanted: op.Wanted,
    schema: pa.Schema,
    keep: tuple[int, ...],
    single: bool = False,
) -> int:
    operator = (
        op.SemiJoin(schema, wanted, keep, single)
        if condition is None
        else op.ConditionalSemiJoin(schema, wanted, keep, single, condition)
    )
    return scope.builder.add(operator, (arranged.left, arranged.right), arranged.exchanged)


def _unmatched(
    scope: PlannerScope,
    side: Side,
    arranged: Arrangement,
    condition: Expr | None,
    kept: _Kept,
    single: bool = False,
) -> int:
    """The rows of ``side``, which is the left one of ``arranged``, without a match, beside NULLs."""
    own = tuple(i - side.offset for i in kept.ordinals if 0 <= i - side.offset < side.width)
    schema = pa.schema([side.schema.field(i) for i in own])
    node = _semi_join(scope, arranged, condition, "unmatched", schema, own, single)
    return _beside_nulls(scope, side, node, own, kept)


def _beside_nulls(scope: PlannerScope, side: Side, node: int, columns: Sequence[int], kept: _Kept) -> int:
    """Rows that hold the given columns of one side, with NULL for the columns of the other."""
    positions = {side.offset + ordinal: i for i, ordinal in enumerate(columns)}
    exprs: list[Expr] = []
    for ordinal, field in zip(kept.ordinals, kept.fields, strict=True):
        at = positions.get(ordinal)
        null = Literal(field.data_type, True, None)
        exprs.append(null if at is None else Column(field.data_type, field.nullable, at, field.name))
    return scope.builder.add(op.Project(kept.schema, tuple(exprs)), (node,))
