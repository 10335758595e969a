"""The catalogue: the tables and views of a pipeline, as one immutable value.

The planning session mirrors it: :func:`register` makes a relation known there, and :func:`restored_on_error`
brings the session back to the catalogue that counts when a change of it fails.

:mod:`penstock.sql.declaring` changes a catalogue; :mod:`penstock.sql.stored` writes one into the manifest and
reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql.types import StructType

from penstock.sql.session import PlanningSession
from penstock.sql.sessions import has_sessions
from penstock.sql.views import PendingView, ViewDefinition, query_of, view_frame

__all__ = ["Catalog", "Relation", "TableDefinition", "register", "restored_on_error"]


@dataclass(frozen=True)
class TableDefinition:
    """An input table. Without a primary key it is a multiset.

    ``incarnation`` counts the tables of this name that were dropped before it: their rows are not its rows.
    ``keeps_lengths`` is False for tables that earlier versions made: those kept CHAR(n) and VARCHAR(n) as
    STRING, and have rows that are not padded.
    """

    name: str
    schema: StructType
    primary_key: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    comment: str = ""
    incarnation: int = field(default=0, compare=False)
    keeps_lengths: bool = field(default=True, compare=False)


Relation = TableDefinition | ViewDefinition | PendingView


@dataclass(frozen=True)
class Catalog:
    """Tables and views in the order of their creation, which is an order of dependency.

    ``dropped`` holds the names (in lower case) and incarnations of tables that were there: the input log may
    still hold their rows when the name comes back.
    """

    relations: tuple[Relation, ...] = ()
    dropped: tuple[tuple[str, int], ...] = field(default=(), compare=False)

    @property
    def tables(self) -> dict[str, TableDefinition]:
        """The tables by name."""
        return {r.name: r for r in self.relations if isinstance(r, TableDefinition)}

    @property
    def views(self) -> dict[str, ViewDefinition]:
        """The planned views by name, those that are not stored as well."""
        return {r.name: r for r in self.relations if isinstance(r, ViewDefinition)}

    @property
    def pending(self) -> dict[str, PendingView]:
        """The views by name that cannot be planned before something else is declared."""
        return {r.name: r for r in self.relations if isinstance(r, PendingView)}

    def find(self, name: str) -> Relation | None:
        """The table or view of this name, in any case."""
        return next((r for r in self.relations if r.name.lower() == name.lower()), None)

    def dependants(self, name: str) -> tuple[str, ...]:
        """The views that read ``name``, through views that are not stored as well."""
        views = (r for r in self.relations if not isinstance(r, TableDefinition))
        return tuple(view.name for view in views if name in view.uses)

    def readers(self, name: str) -> tuple[str, ...]:
        """The views that read ``name`` directly or through any other views, in order."""
        found = {name}
        for view in self.relations:  # each after those it reads
            if not isinstance(view, TableDefinition) and not found.isdisjoint(view.uses):
                found.add(view.name)
        return tuple(r.name for r in self.relations if r.name in found and r.name != name)

    def with_relation(self, relation: Relation) -> Catalog:
        """The catalogue with one more table or view."""
        return replace(self, relations=(*self.relations, relation))

    def with_changed(self, relation: Relation) -> Catalog:
        """The catalogue with ``relation`` in the place of the one that has its name."""
        return replace(
            self, relations=tuple(relation if r.name == relation.name else r for r in self.relations)
        )

    def without(self, name: str) -> Catalog:
        """The catalogue without a table or view."""
        kept = tuple(r for r in self.relations if r.name != name)
        dropped = dict(self.dropped)
        if name in self.tables:
            dropped[name.lower()] = self.tables[name].incarnation
        return replace(self, relations=kept, dropped=tuple(dropped.items()))

    def next_incarnation(self, name: str) -> int:
        """The incarnation of a table that is created under this name now."""
        return dict(self.dropped).get(name.lower(), -1) + 1


def register(planning: PlanningSession, relation: Relation) -> None:
    """Makes a table or view known to the planning session.

    A view with sessions is put in wherever it is used, as if it were not stored: Spark's optimiser takes the
    window for any column and filters rows by it before there are sessions, so what a query over the view
    means depends on the query in it. Equal parts are computed once all the same."""
    if isinstance(relation, PendingView):
        return  # nothing can read it yet
    if isinstance(relation, TableDefinition):
        planning.add_relation(relation.name, relation.schema, relation.primary_key)
    elif relation.materialized and not has_sessions(relation.plan):
        planning.add_relation(relation.name, relation.schema)
    else:
        frame = view_frame(planning, relation.name, query_of(relation), columns=relation.columns)
        planning.add_view(relation.name, frame)


@contextmanager
def restored_on_error(planning: PlanningSession, catalog: Catalog) -> Iterator[None]:
    """Brings the planning session back to ``catalog``, which it mirrors, if the block fails. What the block
    did not touch is not registered again: it may be much."""
    with planning.noting_changes() as changed:
        try:
            yield
        except BaseException:
            touched = set(changed)
            for name in touched:
                planning.remove(name)
            for relation in catalog.relations if touched else ():
                if relation.name.lower() in touched:
                    register(planning, relation)
            changed.clear()
            raise
