"""A table that is frozen once rows of other tables have been joined with it.

The coordinator enforces this, by rejecting changes from then on. It lets a join discard the rows of the other
side (:class:`~penstock.circuit.operators.LookupJoin`).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.circuit.operator import Incremental, operator
from penstock.circuit.operators.table import Table

__all__ = ["StaticTable"]


@operator("static table", Incremental.SOURCE, state="the table's rows, by key")
@dataclass(frozen=True)
class StaticTable(Table):
    """The same as :class:`Table`; nothing computed from such tables alone changes later."""

    @property
    def is_static(self) -> bool:
        return True
