"""The catalogue: the tables and views of a pipeline, as one immutable value.

A script is applied statement by statement to a growing copy; the pipeline takes the result, or keeps the
catalogue it has when any statement fails. The planning session, which cannot be copied, is brought back to
the old catalogue in that case, so it always mirrors the catalogue that counts.

:mod:`penstock.sql.stored` writes a catalogue into the manifest and reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql.types import StructType

from penstock.errors import SqlError
from penstock.sql.script import CreateTable, CreateView, Drop, Statement, parse_script
from penstock.sql.session import PlanningSession
from penstock.sql.sessions import has_sessions
from penstock.sql.views import DataFrameFunction, ViewDefinition, import_view, view_frame

__all__ = ["Catalog", "Relation", "TableDefinition", "add_view", "apply_script", "register"]


@dataclass(frozen=True)
class TableDefinition:
    """An input table. Without a primary key it is a multiset.

    ``incarnation`` counts the tables of this name that were dropped before it: their rows are not its rows.
    """

    name: str
    schema: StructType
    primary_key: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    comment: str = ""
    incarnation: int = field(default=0, compare=False)


Relation = TableDefinition | ViewDefinition


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
        """The views by name, those that are not stored as well."""
        return {r.name: r for r in self.relations if isinstance(r, ViewDefinition)}

    def find(self, name: str) -> Relation | None:
        """The table or view of this name, in any case."""
        return next((r for r in self.relations if r.name.lower() == name.lower()), None)

    def dependants(self, name: str) -> tuple[str, ...]:
        """The views that read ``name``, through views that are not stored as well."""
        return tuple(view.name for view in self.views.values() if name in view.uses)

    def with_relation(self, relation: Relation) -> Catalog:
        """The catalogue with one more table or view."""
        return replace(self, relations=(*self.relations, relation))

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


def apply_script(
    planning: PlanningSession, catalog: Catalog, text: str, *, allow_same: bool = False
) -> Catalog:
    """The catalogue after a script; if any statement fails, nothing of the script took effect.

    With ``allow_same``, declaring again exactly what is there does nothing (a script that is run again to
    resume its pipeline).
    """
    statements = parse_script(planning, text)
    result = catalog
    with _undone_on_error(planning, catalog):
        for statement in statements:
            result = _applied(planning, result, statement, allow_same)
    return result


def add_view(
    planning: PlanningSession,
    catalog: Catalog,
    name: str,
    function: DataFrameFunction,
    *,
    keeps_rows: bool = True,
    comment: str = "",
) -> Catalog:
    """The catalogue with a view made by a DataFrame function."""
    _refuse_existing(catalog, name)
    with _undone_on_error(planning, catalog):
        view = import_view(planning, name, function, keeps_rows=keeps_rows, comment=comment)
        register(planning, view)
    return catalog.with_relation(view)


def register(planning: PlanningSession, relation: Relation) -> None:
    """Makes a table or view known to the planning session.

    A view with sessions is put in wherever it is used, as if it were not stored: Spark's optimiser takes the
    window for any column and filters rows by it before there are sessions, so what a query over the view
    means depends on the query in it. Equal parts are computed once all the same."""
    if isinstance(relation, TableDefinition):
        planning.add_relation(relation.name, relation.schema, relation.primary_key)
    elif relation.materialized and not has_sessions(relation.plan):
        planning.add_relation(relation.name, relation.schema)
    else:
        query = relation.query if relation.function is None else relation.function
        assert query is not None
        frame = view_frame(planning, relation.name, query, columns=relation.columns)
        planning.add_view(relation.name, frame)


@contextmanager
def _undone_on_error(planning: PlanningSession, catalog: Catalog) -> Iterator[None]:
    """Brings the planning session back to ``catalog`` if the block fails."""
    try:
        yield
    except BaseException:
        planning.clear()
        for relation in catalog.relations:
            register(planning, relation)
        raise


def _applied(planning: PlanningSession, catalog: Catalog, statement: Statement, allow_same: bool) -> Catalog:
    try:
        if isinstance(statement, Drop):
            return _dropped(planning, catalog, statement)
        if isinstance(statement, CreateTable):
            return _with_table(planning, catalog, statement, allow_same)
        return _with_view(planning, catalog, statement, allow_same)
    except SqlError as error:
        raise SqlError(f"line {statement.line}: {error}") from None


def _with_table(
    planning: PlanningSession, catalog: Catalog, statement: CreateTable, allow_same: bool
) -> Catalog:
    table = TableDefinition(
        statement.name,
        statement.schema,
        statement.primary_key,
        statement.properties,
        statement.comment,
        catalog.next_incarnation(statement.name),
    )
    if statement.if_not_exists and isinstance(catalog.find(table.name), TableDefinition):
        return catalog
    if allow_same and catalog.find(table.name) == table:
        return catalog
    _refuse_existing(catalog, table.name)
    register(planning, table)
    return catalog.with_relation(table)


def _with_view(
    planning: PlanningSession, catalog: Catalog, statement: CreateView, allow_same: bool
) -> Catalog:
    existing = catalog.find(statement.name)
    if isinstance(existing, ViewDefinition):
        if allow_same and _is_same(existing, statement):
            return catalog
        if statement.if_not_exists and existing.materialized == statement.materialized:
            return catalog
        if statement.or_replace and not existing.materialized:
            catalog = _removed(planning, catalog, existing, "be replaced")
    _refuse_existing(catalog, statement.name)
    view = import_view(
        planning,
        statement.name,
        statement.query,
        materialized=statement.materialized,
        keeps_rows=statement.keeps_rows,
        columns=statement.columns,
        comment=statement.comment,
        line=statement.query_line,
        column=statement.query_column,
    )
    register(planning, view)
    return catalog.with_relation(view)


def _is_same(view: ViewDefinition, statement: CreateView) -> bool:
    return (view.name, view.query, view.materialized, view.keeps_rows, view.columns) == (
        *(statement.name, statement.query, statement.materialized, statement.keeps_rows),
        statement.columns,
    )


def _dropped(planning: PlanningSession, catalog: Catalog, statement: Drop) -> Catalog:
    relation = catalog.find(statement.name)
    if relation is None:
        if statement.if_exists:
            return catalog
        raise SqlError(f"there is no {statement.kind.lower()} {statement.name} to drop")
    kind = _kind(relation)
    if kind != statement.kind:
        raise SqlError(f"{relation.name} is a {kind.lower()}; use DROP {kind}")
    return _removed(planning, catalog, relation, "be dropped")


def _removed(planning: PlanningSession, catalog: Catalog, relation: Relation, verb: str) -> Catalog:
    dependants = catalog.dependants(relation.name)
    if dependants:
        raise SqlError(
            f"{_kind(relation).lower()} {relation.name} cannot {verb}: used by {', '.join(dependants)}; "
            "drop those first"
        )
    planning.remove(relation.name)
    return catalog.without(relation.name)


def _refuse_existing(catalog: Catalog, name: str) -> None:
    relation = catalog.find(name)
    if relation is not None:
        raise SqlError(f"there is already a {_kind(relation).lower()} named {relation.name}")


def _kind(relation: Relation) -> str:
    if isinstance(relation, TableDefinition):
        return "TABLE"
    return "MATERIALIZED VIEW" if relation.materialized else "VIEW"
