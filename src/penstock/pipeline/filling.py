"""Whether new state can be filled: from the tables, if these keep their rows."""

from __future__ import annotations

from collections.abc import Container

from penstock.circuit.operators import PassingTable
from penstock.circuit.program import Program
from penstock.errors import PipelineError
from penstock.sql import Catalog

__all__ = ["check_can_be_filled"]


def check_can_be_filled(
    program: Program, catalog: Catalog, stored: Catalog, arrangements: Container[str]
) -> None:
    """Raises if state that is not among the stored ``arrangements`` depends on a table that existed before
    and did not keep its rows: the rows it needs are gone."""
    circuit = program.circuit
    known = {(table.name, table.incarnation) for table in stored.tables.values()}
    for slot, node in program.slots.items():
        if slot in arrangements:
            continue
        for source in sorted(circuit.ancestors(node.id)):
            table = circuit.nodes[source].operator
            if not isinstance(table, PassingTable) or table.slots:
                continue
            if (table.name, catalog.tables[table.name].incarnation) in known:
                views = ", ".join(circuit.views_of(node.id))
                raise PipelineError(
                    f"{views}: cannot be filled, because table {table.name} does not keep its rows and "
                    "earlier rows are gone. Create views over it together with the table; or "
                    "drop the table and the views that read it, and create them again"
                )
