"""Scans, constants, projections, filters, unions and DISTINCT."""

from __future__ import annotations

from penstock.circuit import operators as op
from penstock.expr.nodes import Column, columns_read
from penstock.sql import plan as p
from penstock.sql.planning.joins import join_keeping
from penstock.sql.planning.stream import (
    PlannerScope,
    Stream,
    column,
    distinct_rows,
    moved,
    renumbered,
    schema_of,
)

__all__ = ["distinct", "filter_", "project", "scan", "union", "values"]


def scan(scope: PlannerScope, plan: p.Scan) -> Stream:
    """A table, or a view that was planned before."""
    return scope.relation(plan.table)


def values(scope: PlannerScope, plan: p.Values) -> Stream:
    """Constant rows."""
    return Stream(scope.builder.add(op.Values(schema_of(plan), plan.rows)), None)


def filter_(scope: PlannerScope, plan: p.Filter) -> Stream:
    """A selection; rows stay where they are."""
    child = scope.compile(plan.child)
    node = scope.builder.add(op.Filter(schema_of(plan), plan.predicate), (child.node,))
    return Stream(node, child.partitioned_by)


def project(scope: PlannerScope, plan: p.Project) -> Stream:
    """A projection. Over a join it tells the join which columns to gather at all."""
    exprs = plan.exprs
    if isinstance(plan.child, p.Join):
        child, positions = join_keeping(scope, plan.child, sorted(columns_read(*exprs)))
        exprs = tuple(renumbered(expr, positions) for expr in exprs)
        if exprs == tuple(Column(e.data_type, e.nullable, i) for i, e in enumerate(exprs)):
            return child
    else:
        child = scope.compile(plan.child)
    node = scope.builder.add(op.Project(schema_of(plan), exprs), (child.node,))
    where = {expr.ordinal: i for i, expr in enumerate(exprs) if isinstance(expr, Column)}
    return Stream(node, moved(child.partitioned_by, where))


def union(scope: PlannerScope, plan: p.Union) -> Stream:
    """UNION ALL."""
    nodes = tuple(scope.compile(child).node for child in plan.children)
    return Stream(scope.builder.add(op.Union(schema_of(plan)), nodes), None)


def distinct(scope: PlannerScope, plan: p.Distinct) -> Stream:
    """Every row once: equal rows must meet on one worker."""
    schema = schema_of(plan)
    columns = tuple(column(i, field) for i, field in enumerate(plan.schema))
    node = distinct_rows(scope, scope.compile(plan.child), schema, columns)
    return Stream(node, tuple(range(len(columns))))
