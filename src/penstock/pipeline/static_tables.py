"""Static tables: they can change until rows of other tables may have been joined with them.

Views over a static table do not store the rows that are joined with it, so later changes to the table would
not be applied to those. They are rejected instead, when they are pushed and again by the step, because rows
of other tables may have come in between. The criterion is whether any table that is not static has received a
row; versions record it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.circuit.operators import StaticTable
from penstock.circuit.program import Program
from penstock.errors import InputError
from penstock.storage import Version

__all__ = ["StaticTables"]


@dataclass(frozen=True)
class StaticTables:
    """The static tables, each with the views that read it; ``moving``: whether other tables have received
    rows."""

    views: Mapping[str, tuple[str, ...]]
    moving: bool

    @staticmethod
    def of(program: Program, version: Version) -> StaticTables:
        """As of a version."""
        circuit = program.circuit
        views = {
            name: tuple(view for view in circuit.views_of(node) if view != name)  # its changes are kept
            for name, node in circuit.tables.items()
            if isinstance(circuit.nodes[node].operator, StaticTable)
        }
        return StaticTables(views, version.static_frozen)

    def check(self, rows_by_table: Mapping[str, int]) -> None:
        """Raises if a static table would change after it is frozen."""
        if not self.moving:
            return
        for table, rows in rows_by_table.items():
            if rows and self.views.get(table):
                raise InputError(
                    table,
                    "the table is static and cannot change once other tables have received rows: "
                    f"{', '.join(self.views[table])} would not be updated. Fill static tables before "
                    "the others; or drop those views, change the table, and create them again; or declare "
                    "the table without 'static'",
                )

    def after(self, rows_by_table: Mapping[str, int]) -> StaticTables:
        """The state after a step with these rows."""
        if self.moving or not any(rows for table, rows in rows_by_table.items() if table not in self.views):
            return self
        return replace(self, moving=True)
