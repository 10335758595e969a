"""A limit knows the position of each of its rows: a ROW_NUMBER over it need not compute it again.

Catalyst puts the limit of ``WHERE row_number <= k`` below the window and leaves both. Computing the numbers
would mean a second arrangement of all results, in the same order.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.sql.plan import Plan, TopK, Window

__all__ = ["number_within_limit"]


def number_within_limit(plan: Plan) -> Plan:
    """Applies to a window of nothing but ROW_NUMBER over a limit with the same partitions and order."""
    if not isinstance(plan, Window) or not isinstance(plan.child, TopK):
        return plan
    limit = plan.child
    same = (limit.keys, limit.order, limit.offset, limit.numbers) == (plan.keys, plan.order, 0, 0)
    if not same or limit.limit is None or any(call.function != "RowNumber" for call in plan.calls):
        return plan
    return replace(limit, schema=plan.schema, numbers=len(plan.calls))
