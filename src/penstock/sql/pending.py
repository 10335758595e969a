"""Planning stored views once what they need is declared.

Code is not stored, so a pipeline that is opened again cannot plan a view whose DataFrame function, or a
Python function that its query calls, has not been declared yet. Such a view waits as a
:class:`~penstock.sql.views.PendingView`, and so do the views that read it. :func:`bound` plans those that can
be planned now; it is called after every declaration, so declarations may come in any order.

A view resumes its state only if its plan is exactly the one for which the state was made.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import DefinitionChanged
from penstock.sql.catalog import Catalog, register, restored_on_error
from penstock.sql.changed import diff_text
from penstock.sql.declaring import add_view
from penstock.sql.session import PlanningSession
from penstock.sql.views import DataFrameFunction, PendingView, ViewDefinition, import_again

__all__ = ["bound", "declare_view", "missing_for"]


def bound(planning: PlanningSession, catalog: Catalog) -> Catalog:
    """The catalogue with every pending view planned whose needs are met; these are registered in the planning
    session. A view whose plan has changed stays pending, with its ``problem``."""
    for pending in catalog.pending.values():
        if missing_for(planning, catalog, pending) or pending.problem:
            continue
        view = import_again(planning, pending)
        if view.fingerprint != pending.fingerprint:
            catalog = catalog.with_changed(replace(pending, problem=_problem(view, pending)))
            continue
        register(planning, view)
        catalog = catalog.with_changed(view)
    return catalog


def declare_view(
    planning: PlanningSession,
    catalog: Catalog,
    name: str,
    function: DataFrameFunction,
    *,
    keeps_rows: bool = True,
    comment: str = "",
    replace_view: bool = False,
) -> Catalog:
    """The catalogue with a view made by a DataFrame function, which is a new view or resumes its state."""
    with restored_on_error(planning, catalog):
        for _ in range(2):  # only planning shows whether the pending view has another definition
            catalog = add_view(
                planning,
                catalog,
                name,
                function,
                keeps_rows=keeps_rows,
                comment=comment,
                replace_view=replace_view,
            )
            catalog = bound(planning, catalog)
            found = catalog.find(name)
            if not isinstance(found, PendingView) or not found.problem:
                break
            if not replace_view:
                raise DefinitionChanged(found.problem, (found.name,))
    return catalog


def missing_for(planning: PlanningSession, catalog: Catalog, view: PendingView) -> str:
    """What must be declared before a pending view can be planned, for people; empty if nothing is missing."""
    if view.query is None and view.function is None:
        return (
            f"view {view.name} was made by a DataFrame function, which is not stored: declare it again with "
            f"pipe.view({view.name!r}, …)"
        )
    unknown = [name for name in view.functions if name.lower() not in planning.functions]
    if view.query is not None and unknown:
        return (
            f"view {view.name} calls Python functions, which are not stored: declare {', '.join(unknown)} "
            f"with pipe.function({unknown[0]!r}, …)"
        )
    waiting = [name for name in view.uses if name in catalog.pending]
    if waiting:
        return f"view {view.name} reads {', '.join(waiting)}, which is not declared yet"
    return ""


def _problem(view: ViewDefinition, pending: PendingView) -> str:
    if view.query is None:
        reason = "the function declared now gives another plan than the one the pipeline was built with"
        difference = diff_text(pending.plan_text, view.plan_text) if pending.plan_text else ""
        reason += f":\n{difference}\n" if difference else "; "
        return (
            f"view {view.name}: {reason}To compute the view again from the tables, declare it with "
            f"pipe.view({view.name!r}, …, replace=True); to keep it, declare the function as it was"
        )
    if view.functions:
        reason = (
            f"{', '.join(view.functions)} as declared now, or this version of Spark or Penstock, gives "
            "another plan than the one the pipeline was built with"
        )
    else:
        reason = (
            "this version of Spark or Penstock plans the query differently than the stored state was built"
        )
    return (
        f"view {view.name}: {reason}. To compute the view again from the tables, apply the script with "
        "pipe.sql(script, replace=True), on the command line penstock run --replace; or drop the view"
    )
