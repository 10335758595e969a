"""The number of the only row is 1: a ROW_NUMBER over what a limit of one row per partition leaves is not
computed.

Catalyst puts the limit of ``WHERE row_number <= 1`` below the window and leaves both. Keeping the numbers
would mean a second arrangement of all answers, in which every row has the same number.
"""

from __future__ import annotations

from penstock.expr.nodes import Literal
from penstock.sql.plan import Plan, Project, TopK, Window
from penstock.sql.planning.stream import column

__all__ = ["number_only_row"]


def number_only_row(plan: Plan) -> Plan:
    """Applies to a window of nothing but ROW_NUMBER over a limit of one with the same partitions."""
    if not isinstance(plan, Window) or not isinstance(plan.child, TopK):
        return plan
    limit = plan.child
    if limit.limit != 1 or limit.keys != plan.keys or any(c.function != "RowNumber" for c in plan.calls):
        return plan
    through = tuple(column(i, field) for i, field in enumerate(limit.schema))
    ones = tuple(Literal(call.data_type, False, 1) for call in plan.calls)
    return Project(plan.schema, limit, (*through, *ones))
