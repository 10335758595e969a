"""A table that stands still once rows of other tables have been joined with it.

The promise is kept by the coordinator, which refuses changes from then on. It lets a join do without the rows
of the other side (:class:`~penstock.circuit.operators.LookupJoin`).
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
    def stands(self) -> bool:
        return True
