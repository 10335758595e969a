"""A projection of all columns unchanged does nothing."""

from __future__ import annotations

from penstock.expr.nodes import Column
from penstock.sql.plan import Plan, Project

__all__ = ["drop_idle_project"]


def drop_idle_project(plan: Plan) -> Plan:
    """Applies where the output equals the input except for names, which are for people."""
    if not isinstance(plan, Project) or len(plan.exprs) != len(plan.child.schema):
        return plan
    same = all(isinstance(expr, Column) and expr.ordinal == i for i, expr in enumerate(plan.exprs))
    return plan.child if same and plan.schema == plan.child.schema else plan
