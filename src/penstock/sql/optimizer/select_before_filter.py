"""A filter copies every column of the rows it keeps, so columns that are not used above it are dropped below
it.

``project(f(a), filter(p(b), wide))`` becomes ``project(f(a), filter(p(b), project(a, b, wide)))``. Dropping
columns is free: a projection that only selects columns copies nothing.
"""

from __future__ import annotations

from penstock.expr.nodes import columns_read
from penstock.sql.plan import Filter, Plan, Project
from penstock.sql.planning.stream import column, renumbered

__all__ = ["select_before_filter"]


def select_before_filter(plan: Plan) -> Plan:
    """Applies to a projection over a filter whose input has columns that neither reads."""
    if not isinstance(plan, Project) or not isinstance(plan.child, Filter):
        return plan
    wide, predicate = plan.child.child, plan.child.predicate
    read = sorted(columns_read(predicate, *plan.exprs))
    if len(read) == len(wide.schema) or not read:
        return plan
    positions = {ordinal: position for position, ordinal in enumerate(read)}
    schema = tuple(wide.schema[ordinal] for ordinal in read)
    narrow = Project(schema, wide, tuple(column(ordinal, wide.schema[ordinal]) for ordinal in read))
    return Project(
        plan.schema,
        Filter(schema, narrow, renumbered(predicate, positions)),
        tuple(renumbered(expr, positions) for expr in plan.exprs),
    )
