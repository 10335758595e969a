"""A projection that only selects columns of another projection is merged into it.

The other rules leave such pairs behind, and each costs a pass through an operator. Expressions are never
duplicated: only columns are merged.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.expr.nodes import Column
from penstock.sql.plan import Plan, Project

__all__ = ["merge_projects"]


def merge_projects(plan: Plan) -> Plan:
    """Applies to a projection of columns over another projection."""
    if not isinstance(plan, Project) or not isinstance(plan.child, Project):
        return plan
    chosen = [expr.ordinal for expr in plan.exprs if isinstance(expr, Column)]
    if len(chosen) < len(plan.exprs) or len(set(chosen)) < len(chosen):
        return plan
    inner = plan.child
    return replace(plan, child=inner.child, exprs=tuple(inner.exprs[ordinal] for ordinal in chosen))
