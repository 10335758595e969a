"""The circuit of a pipeline's catalogue, extended incrementally as tables and views are declared.

Declaring one more view plans that view alone, because the planner and its state are kept. A catalogue that is
not an extension of the last one (something was dropped) is planned from scratch, with the same result: a
circuit depends only on what was added and in which order. It is cut into a program once, on first use.
"""

from __future__ import annotations

from operator import is_

from penstock.circuit.program import Program, cut
from penstock.pipeline.tables import TableSchema
from penstock.sql import Catalog, FunctionNames, TableDefinition, ViewDefinition
from penstock.sql.catalog import Relation
from penstock.sql.planner import Planner

__all__ = ["GrowingCircuit"]


class GrowingCircuit:
    """Plans catalogues; planning the last one again costs nothing, and extending it little."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._planner, self._functions = Planner(), FunctionNames()
        self._planned: tuple[Relation, ...] = ()
        self._program: Program | None = None

    def plan(self, catalog: Catalog) -> None:
        """Plans what is new in ``catalog`` since the last call. Raises for what the importer accepts but the
        circuit cannot do; then the last catalogue stays planned."""
        new = self._new_in(catalog)
        if new is None:
            fresh = GrowingCircuit()
            fresh.plan(catalog)
            self.__dict__.update(fresh.__dict__)
        elif new:
            with self._planner.undone_on_error(), self._functions.undone_on_error():
                for relation in new:
                    self._add(relation)
            self._planned, self._program = catalog.relations, None

    def program(self, catalog: Catalog) -> Program:
        """The program of ``catalog``."""
        self.plan(catalog)
        if self._program is None:
            self._program = cut(self._planner.build())
        return self._program

    def _new_in(self, catalog: Catalog) -> tuple[Relation, ...] | None:
        """The relations after those that are planned; None if ``catalog`` does not start with those."""
        relations, count = catalog.relations, len(self._planned)
        if relations is self._planned:
            return ()
        same = len(relations) >= count and all(map(is_, relations, self._planned))
        return relations[count:] if same else None

    def _add(self, relation: Relation) -> None:
        if isinstance(relation, ViewDefinition):
            self._functions.add(relation.name, relation.plan)
            if relation.materialized:
                self._planner.add_view(relation.name, relation.plan, keeps_rows=relation.keeps_rows)
        elif isinstance(relation, TableDefinition):
            self._add_table(relation)

    def _add_table(self, relation: TableDefinition) -> None:
        table = TableSchema.of(relation)
        if table.append_only:
            self._planner.add_append_table(
                table.name, table.arrow_schema, relation.incarnation, keeps_rows=table.keeps_rows
            )
        else:
            names = relation.schema.names
            key = tuple(names.index(column) for column in table.primary_key)
            self._planner.add_table(
                table.name, table.arrow_schema, key, relation.incarnation, static=table.static
            )
        if table.keeps_changes:
            self._planner.add_changes(table.name, table.arrow_schema)
