"""Notes: where a query is nondeterministic, and which of the possible answers its view gives.

Some of Spark's answers depend on the order in which rows happen to arrive. A view must have one answer, so
rows come in a documented order (docs/row-order.md), and the view carries a note about it. It is shown when
the view is created and by ``explain``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.expr.nodes import Column, Expr
from penstock.sql import plan as p
from penstock.sql.dependencies import Keys, is_determined

__all__ = ["Note", "in_order_of", "tells_apart"]

_SHOWN = 4


@dataclass(frozen=True)
class Note:
    """``construct`` is the nondeterministic construct, as written in the query; ``place`` its position;
    ``text`` the answer given. Without ``open`` the note is about something other than the rows of the
    answer."""

    construct: str
    place: str
    text: str
    open: bool = True

    def __str__(self) -> str:
        return f"{self.construct} ({self.place}): {self.text}"


def in_order_of(columns: Sequence[str]) -> str:
    """The documented order, in words."""
    listed = ", ".join(columns[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")
    return f"in ascending order of {listed}, NULL first"


def tells_apart(order: Sequence[Expr], plan: p.Plan, keys: Keys) -> bool:
    """Whether rows of ``plan`` that agree in ``order`` agree in all columns."""
    columns = (Column(field.data_type, field.nullable, i) for i, field in enumerate(plan.schema))
    return all(is_determined(column, plan, order, keys) for column in columns)
