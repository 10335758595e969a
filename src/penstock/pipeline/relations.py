"""The tables and views of a run by name: what can be pushed to, read, and compared with Spark."""

from __future__ import annotations

from penstock.errors import PipelineError
from penstock.pipeline.tables import TableSchema
from penstock.sql import Catalog, ViewDefinition
from penstock.sql.catalog import Relation

__all__ = ["Relations"]


class Relations:
    """Finds relations of ``catalog``, or says what there is."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._tables = {table.name: TableSchema.of(table) for table in catalog.tables.values()}

    def table(self, name: str) -> TableSchema:
        """The table of that name."""
        relation = self.catalog.find(name)
        if relation is None or relation.name not in self._tables:
            raise PipelineError(f"there is no table {name}; there is: {', '.join(self._tables) or 'none'}")
        return self._tables[relation.name]

    def stored_view(self, name: str) -> ViewDefinition:
        """The materialised view of that name."""
        relation = self.catalog.find(name)
        if isinstance(relation, ViewDefinition) and relation.materialized:
            return relation
        if isinstance(relation, ViewDefinition):
            raise PipelineError(f"view {name} is not stored; make it a MATERIALIZED VIEW to read it")
        stored = [view.name for view in self.stored_views]
        raise PipelineError(f"there is no view {name}; there is: {', '.join(stored) or 'none'}")

    @property
    def stored_views(self) -> list[ViewDefinition]:
        """All materialised views."""
        return [view for view in self.catalog.views.values() if view.materialized]

    def stored(self, name: str) -> Relation:
        """The table or materialised view of that name."""
        relation = self.catalog.find(name)
        if relation is not None and relation.name in self._tables:
            return relation
        return self.stored_view(name)

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
    def passing(self) -> list[str]:
        """The tables that do not keep their rows."""
        return [name for name, table in self._tables.items() if not table.keeps_rows]
