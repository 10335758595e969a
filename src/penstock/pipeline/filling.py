"""Whether what is new in a pipeline can be filled: from the tables, if these keep their rows."""

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
    """Raises if state that is not among the stored ``arrangements`` depends on a table that was there before
    and did not keep its rows: what belongs into it has passed by."""
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
                    "those that came before are gone. Create views over it together with the table; or "
                    "drop the table and what reads it, and create them anew"
                )
