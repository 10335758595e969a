"""The tables and views of a run by name: what can be pushed to, read, and verified."""

from __future__ import annotations

from penstock.errors import PipelineError, choice_text
from penstock.pipeline.tables import TableSchema
from penstock.sql import Catalog, PendingView, TableDefinition, ViewDefinition
from penstock.sql.catalog import Relation

__all__ = ["Relations"]


class Relations:
    """Finds relations of ``catalog``; errors list the known ones."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._tables = {table.name: TableSchema.of(table) for table in catalog.tables.values()}

    def table(self, name: str) -> TableSchema:
        """The table of that name."""
        relation = self.catalog.find(name)
        if relation is None:
            raise PipelineError(f"there is no table {name}; {choice_text(name, self._tables)}")
        if relation.name not in self._tables:
            raise PipelineError(
                f"{relation.name} is a view, which follows its tables; rows go into tables: "
                f"{', '.join(self._tables) or 'there are none'}"
            )
        return self._tables[relation.name]

    def stored_view(self, name: str) -> ViewDefinition:
        """The materialised view of that name."""
        relation = self.catalog.find(name)
        if isinstance(relation, ViewDefinition) and relation.materialized:
            return relation
        if isinstance(relation, PendingView):
            raise PipelineError(
                f"view {relation.name} is suspended in this run: it needs a function that was not declared; "
                "declare it before run()"
            )
        if isinstance(relation, ViewDefinition):
            raise PipelineError(f"view {name} is not stored; make it a MATERIALIZED VIEW to read it")
        stored = [view.name for view in self.stored_views]
        if relation is not None:
            raise PipelineError(
                f"{relation.name} is a table, not a view; the views are: {', '.join(stored) or 'none'}"
            )
        raise PipelineError(f"there is no view {name}; {choice_text(name, stored)}")

    @property
    def stored_views(self) -> list[ViewDefinition]:
        """All materialised views."""
        return [view for view in self.catalog.views.values() if view.materialized]

    def stored(self, name: str) -> Relation:
        """The table or materialised view of that name."""
        relation = self.catalog.find(name)
        if relation is not None and relation.name in self._tables:
            return relation
        if relation is None:
            names = [*self._tables, *(view.name for view in self.stored_views)]
            raise PipelineError(f"there is no table or view {name}; {choice_text(name, names)}")
        return self.stored_view(name)

    def followed(self, name: str) -> Relation:
        """The table or materialised view of that name, if its changes are kept."""
        relation = self.stored(name)
        if isinstance(relation, TableDefinition) and not self._tables[relation.name].keeps_changes:
            raise PipelineError(
                f"table {relation.name} does not keep its changes. Declare it with TBLPROPERTIES "
                "('keepChanges' = 'true'), which can be done at any time, and run the pipeline again"
            )
        return relation

    def readable(self, name: str) -> Relation:
        """The same, if its rows are kept."""
        relation = self.stored(name)
        if isinstance(relation, ViewDefinition):
            what, kept, advice = "view", relation.keeps_rows, "follow its changes"
        else:
            what, kept, advice = "table", self._tables[relation.name].keeps_rows, "read a view over it"
        if not kept:
            raise PipelineError(f"{what} {relation.name} does not keep its rows; {advice}")
        return relation

    @property
    def all_readable(self) -> list[Relation]:
        """All tables and materialised views whose rows are kept."""
        tables = [t for t in self.catalog.tables.values() if self._tables[t.name].keeps_rows]
        return [*tables, *(view for view in self.stored_views if view.keeps_rows)]

    @property
    def passing(self) -> list[str]:
        """The tables that do not keep their rows."""
        return [name for name, table in self._tables.items() if not table.keeps_rows]
