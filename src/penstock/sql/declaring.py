"""Declaring tables and views: scripts and DataFrame functions, applied to a catalogue all or nothing.

A script is applied statement by statement to a growing copy of the catalogue; the pipeline takes the result,
or keeps the catalogue it has when any statement fails. The planning session, which cannot be copied, is
brought back to the old catalogue in that case, so it always mirrors the catalogue that counts.

A view that is replaced takes the views that read it out with it; they are created again once it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.errors import DefinitionChanged
from penstock.sql.catalog import Catalog, TableDefinition, register, restored_on_error
from penstock.sql.changed import Change, changed_error, option_text
from penstock.sql.creating import applied, change_of, refuse_existing, same_plan, show_notes, stuck_view
from penstock.sql.replacing import Displaced
from penstock.sql.script import parse_script
from penstock.sql.session import PlanningSession
from penstock.sql.views import DataFrameFunction, PendingView, ViewDefinition, import_again, import_view

__all__ = ["add_view", "apply_script"]


def apply_script(
    planning: PlanningSession,
    catalog: Catalog,
    text: str,
    *,
    allow_same: bool = False,
    replace_views: bool = False,
) -> Catalog:
    """The catalogue after a script; if any statement fails, nothing of the script took effect.

    With ``allow_same``, declaring again exactly what is there does nothing (a script that is run again to
    resume its pipeline); what is there but declared otherwise is a DefinitionChanged that shows all
    differences. With ``replace_views``, views that are declared otherwise are dropped and created again,
    and so are the views that read them.
    """
    planning.follow_switches()
    statements = parse_script(planning, text)
    result, displaced = catalog, Displaced()
    changes: list[Change] = []
    with restored_on_error(planning, catalog):
        for number, statement in enumerate(statements):
            if allow_same and (change := change_of(planning, result, statement)) is not None:
                if not replace_views or change.kind == "table":
                    changes.append(change)
                    continue
                result = _displace(planning, result, change.name, displaced)
            elif replace_views and (stuck := stuck_view(result, statement)):
                result = _displace(planning, result, stuck, displaced)
            elif changes:
                continue  # what follows may need what was not changed: report the differences
            result = applied(planning, result, statement, allow_same)
            later = [following.name for following in statements[number + 1 :]]
            result = _all_created_again(planning, result, displaced, later)
        if changes:
            raise changed_error(changes)
    return result


def add_view(
    planning: PlanningSession,
    catalog: Catalog,
    name: str,
    function: DataFrameFunction,
    *,
    keeps_rows: bool = True,
    comment: str = "",
    replace_view: bool = False,
) -> Catalog:
    """The catalogue with a view made by a DataFrame function. Declaring the same view again only renews the
    function; another one is a DefinitionChanged, or with ``replace_view`` takes the old one's place."""
    existing = catalog.find(name)
    if existing is not None and (isinstance(existing, TableDefinition) or existing.query is not None):
        refuse_existing(catalog, name)
    if isinstance(existing, PendingView):
        if existing.keeps_rows == keeps_rows and not (existing.problem and replace_view):
            return catalog.with_changed(replace(existing, function=function, declared=True, problem=""))
        if not replace_view:
            now = replace(existing, keeps_rows=keeps_rows)
            raise _view_changed(catalog, existing, option_text(existing), option_text(now))
    planning.follow_switches()
    with restored_on_error(planning, catalog):
        view = import_view(planning, name, function, keeps_rows=keeps_rows, comment=comment)
        displaced = Displaced()
        if isinstance(existing, ViewDefinition) and same_plan(existing, view):
            return catalog.with_changed(replace(view, name=existing.name))
        if isinstance(existing, ViewDefinition) and not replace_view:
            old, new = (f"{option_text(one)}{one.plan_text}" for one in (existing, view))
            raise _view_changed(catalog, existing, old, new)
        if existing is not None:
            catalog = _displace(planning, catalog, existing.name, displaced)
        register(planning, view)
        show_notes(view)
        return _all_created_again(planning, catalog.with_relation(view), displaced)


def _displace(planning: PlanningSession, catalog: Catalog, name: str, displaced: Displaced) -> Catalog:
    """Takes a view out, and the views that read it, which are to be created again."""
    for reader in reversed(catalog.readers(name)):
        relation = catalog.find(reader)
        assert isinstance(relation, ViewDefinition | PendingView)
        displaced.add(relation)
        planning.remove(reader)
        catalog = catalog.without(reader)
    planning.remove(name)
    return catalog.without(name)


def _all_created_again(
    planning: PlanningSession, catalog: Catalog, displaced: Displaced, later: Sequence[str] = ()
) -> Catalog:
    """The catalogue with those views again that were taken out and can be created now."""
    while (view := displaced.next([r.name for r in catalog.relations], later)) is not None:
        if isinstance(view, ViewDefinition):
            view = import_again(planning, view)
            register(planning, view)
        catalog = catalog.with_relation(view)
    return catalog


def _view_changed(
    catalog: Catalog, view: ViewDefinition | PendingView, old: str, new: str
) -> DefinitionChanged:
    change = Change("view", view.name, old, new, catalog.readers(view.name))
    return changed_error([change], how=f"pipe.view({view.name!r}, …, replace=True)")
