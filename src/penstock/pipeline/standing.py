"""Static tables: they may be filled, and change, until rows of other tables can have been joined with them.

Views over a static table do not keep the rows that they look up in it, so a change that came later would be
missed by those. It is refused instead, when it is pushed, and by the step: rows of other tables may have come
in between. What decides is whether any row has come to a table that is not static; versions remember it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.circuit.operators import StaticTable
from penstock.circuit.program import Program
from penstock.errors import InputError

__all__ = ["StandingTables"]


@dataclass(frozen=True)
class StandingTables:
    """The static tables, each with the views that it feeds; ``moving``: whether rows have come to others."""

    views: Mapping[str, tuple[str, ...]]
    moving: bool

    @staticmethod
    def of(program: Program, body: Mapping[str, Any]) -> StandingTables:
        """As of a version. One that does not tell is of an older release, and any table may have moved."""
        circuit = program.circuit
        views = {
            name: circuit.views_of(node)
            for name, node in circuit.tables.items()
            if isinstance(circuit.nodes[node].operator, StaticTable)
        }
        return StandingTables(views, bool(body.get("moving", body["step"] > 0)))

    def check(self, rows_by_table: Mapping[str, int]) -> None:
        """Raises if a static table would change that stands still now."""
        if not self.moving:
            return
        for table, rows in rows_by_table.items():
            if rows and self.views.get(table):
                raise InputError(
                    table,
                    "the table is static, and rows of other tables have come: what was looked up in it for "
                    f"{', '.join(self.views[table])} cannot be looked up again. Fill static tables before "
                    "the others; or drop those views, change the table, and create them anew; or declare the "
                    "table without 'static'",
                )

    def after(self, rows_by_table: Mapping[str, int]) -> StandingTables:
        """After a step with these rows."""
        if self.moving or not any(rows for table, rows in rows_by_table.items() if table not in self.views):
            return self
        return replace(self, moving=True)
