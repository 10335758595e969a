"""Sessions: all rows of a key on one worker, by time."""

from __future__ import annotations

from penstock.circuit import operators as op
from penstock.sql import plan as p
from penstock.sql.planning.limits import spread_by
from penstock.sql.planning.stream import PlannerScope, Stream, schema_of

__all__ = ["sessions"]


def sessions(scope: PlannerScope, plan: p.Sessions) -> Stream:
    """Rows with the start of their session behind them."""
    child = scope.compile(plan.child)
    index, exchange = scope.index(child, schema_of(plan.child), plan.keys, (False,) * len(plan.keys))
    operator = op.Sessions(schema_of(plan), plan.start, plan.end)
    return Stream(scope.builder.add(operator, (index,), (exchange,)), spread_by(plan.keys))
