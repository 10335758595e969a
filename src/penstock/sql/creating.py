"""One CREATE or DROP statement, applied to a catalogue: what it changes, and when it is refused.

A script that is run again declares what is there already. So a CREATE of the same table or view does nothing,
and one of another is a :class:`~penstock.sql.changed.Change`, which :mod:`penstock.sql.declaring` reports or
carries out.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from pyspark.sql.types import StructType

from penstock.errors import DefinitionChanged, PenstockError, SqlError
from penstock.expr.types import has_lengths, without_lengths
from penstock.sql.catalog import Catalog, Relation, TableDefinition, register
from penstock.sql.changed import Change, option_text, table_text
from penstock.sql.column_list import described, without_types
from penstock.sql.script import CreateTable, CreateView, Drop, Statement
from penstock.sql.session import PlanningSession
from penstock.sql.views import PendingView, ViewDefinition, import_view

__all__ = ["applied", "change_of", "refuse_existing", "same_plan", "show_notes", "stuck_view"]

_log = logging.getLogger(__name__)


def applied(planning: PlanningSession, catalog: Catalog, statement: Statement, allow_same: bool) -> Catalog:
    """The catalogue after one statement; an error says in which line of the script it stands."""
    try:
        if isinstance(statement, Drop):
            return _dropped(planning, catalog, statement)
        if isinstance(statement, CreateTable):
            return _with_table(planning, catalog, statement, allow_same)
        return _with_view(planning, catalog, statement, allow_same)
    except DefinitionChanged:
        raise
    except SqlError as error:
        raise SqlError(f"line {statement.line}: {error}") from None


def change_of(planning: PlanningSession, catalog: Catalog, statement: Statement) -> Change | None:
    """What a CREATE statement would change in the relation of its name and kind, if that is there.

    A view whose text is another one but whose plan is the same is not changed: formatting and comments may
    be.
    """
    if isinstance(statement, Drop) or statement.if_not_exists:
        return None
    existing = catalog.find(statement.name)
    if isinstance(statement, CreateTable):
        declared = _table_of(catalog, statement)
        if not isinstance(existing, TableDefinition) or _same_table(existing, declared):
            return None
        old, new = table_text(existing), table_text(declared)
        return Change("table", existing.name, old, new, catalog.readers(existing.name), statement.line)
    if existing is None or isinstance(existing, TableDefinition) or _is_same(existing, statement):
        return None
    if statement.or_replace and not existing.materialized:
        return None
    if isinstance(existing, ViewDefinition) and _has_same_plan(planning, existing, statement):
        return None
    old = f"{option_text(existing)}{existing.query or '(made by a DataFrame function)'}"
    new = f"{option_text(statement)}{statement.query}"
    return Change("view", existing.name, old, new, catalog.readers(existing.name), statement.line)


def stuck_view(catalog: Catalog, statement: Statement) -> str:
    """The view that a statement declares as it is stored, if it is planned differently now; else nothing."""
    pending = catalog.find(statement.name)
    return pending.name if isinstance(pending, PendingView) and pending.problem else ""


def _has_same_plan(planning: PlanningSession, view: ViewDefinition, statement: CreateView) -> bool:
    try:
        return same_plan(view, _imported(planning, statement))
    except PenstockError:
        return False  # that it cannot be planned is said when it replaces the view


def _table_of(catalog: Catalog, statement: CreateTable) -> TableDefinition:
    """The declared table. One that is there from a version without lengths of texts is declared without."""
    declared = TableDefinition(
        statement.name,
        statement.schema,
        statement.primary_key,
        statement.properties,
        statement.comment,
        catalog.next_incarnation(statement.name),
    )
    existing = catalog.find(statement.name)
    if not isinstance(existing, TableDefinition) or existing.keeps_lengths:
        return declared
    plain = without_lengths(declared.schema)
    assert isinstance(plain, StructType)
    return replace(declared, schema=plain, keeps_lengths=False)


def _same_table(existing: TableDefinition, declared: TableDefinition) -> bool:
    """Whether two definitions are of one table, apart from comments."""
    return existing.name == declared.name and table_text(existing) == table_text(declared)


def _with_table(
    planning: PlanningSession, catalog: Catalog, statement: CreateTable, allow_same: bool
) -> Catalog:
    table = _table_of(catalog, statement)
    existing = catalog.find(table.name)
    if isinstance(existing, TableDefinition):
        if statement.if_not_exists:
            return catalog
        if allow_same and _same_table(existing, table):
            if has_lengths(statement.schema) and not table.keeps_lengths:
                _log.warning(
                    "table %s was made by a version that kept CHAR(n) and VARCHAR(n) as STRING, and stays "
                    "that way: nothing is padded, no length is checked. To change that, make a new pipeline",
                    table.name,
                )
            return (
                catalog
                if existing == table
                else catalog.with_changed(replace(table, incarnation=existing.incarnation))
            )
    refuse_existing(catalog, table.name)
    register(planning, table)
    return catalog.with_relation(table)


def _with_view(
    planning: PlanningSession, catalog: Catalog, statement: CreateView, allow_same: bool
) -> Catalog:
    existing = catalog.find(statement.name)
    if existing is not None and not isinstance(existing, TableDefinition):
        if allow_same and _is_same(existing, statement):
            if isinstance(existing, PendingView):
                return catalog.with_changed(replace(existing, declared=True))
            return catalog
        if statement.if_not_exists and existing.materialized == statement.materialized:
            return catalog
        if statement.or_replace and not existing.materialized:
            catalog = _removed(planning, catalog, existing, "be replaced")
        elif allow_same and isinstance(existing, ViewDefinition):
            view = _imported(planning, statement)
            if same_plan(existing, view):
                return catalog.with_changed(replace(view, name=existing.name))
    refuse_existing(catalog, statement.name)
    view = _imported(planning, statement)
    register(planning, view)
    show_notes(view)
    return catalog.with_relation(view)


def _imported(planning: PlanningSession, statement: CreateView) -> ViewDefinition:
    return import_view(
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


def _is_same(view: ViewDefinition | PendingView, statement: CreateView) -> bool:
    same = (view.name, view.query, view.materialized, view.keeps_rows, view.columns) == (
        statement.name,
        statement.query,
        statement.materialized,
        statement.keeps_rows,
        without_types(statement.columns),
    )
    if same:
        described(view.schema, statement.columns)  # raises if a declared type is another one now
    return same


def same_plan(one: ViewDefinition, other: ViewDefinition) -> bool:
    """Whether two definitions of a view give the same rows under the same names, from the same state."""
    return one.schema.names == other.schema.names and (
        (one.fingerprint, one.materialized, one.keeps_rows)
        == (other.fingerprint, other.materialized, other.keeps_rows)
    )


def show_notes(view: ViewDefinition) -> None:
    """Tells whoever creates a view where its query leaves the answer open."""
    for note in view.notes:
        _log.warning("view %s: %s", view.name, note)


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


def refuse_existing(catalog: Catalog, name: str) -> None:
    """Raises if a table or view of this name is there."""
    relation = catalog.find(name)
    if relation is not None:
        raise SqlError(f"there is already a {_kind(relation).lower()} named {relation.name}")


def _kind(relation: Relation) -> str:
    if isinstance(relation, TableDefinition):
        return "TABLE"
    return "MATERIALIZED VIEW" if relation.materialized else "VIEW"
