"""Running a pipeline in which some stored views are pending.

A view made by a DataFrame function, or one that calls Python functions, cannot run before the program has
declared the functions. If the program asked for the view, that is an error. If it did not mention it, the
pipeline runs without it: the view is *suspended*. It stays in the catalogue, but the first version written
without it drops its state, because the state misses a step from then on; when the view is declared again it
is filled from the tables. So a program may run a pipeline, declare such a view afterwards and run it again,
and do the same when it is started the next time.
"""

from __future__ import annotations

import logging

from penstock.errors import PipelineError
from penstock.pipeline.tables import TableSchema
from penstock.sql import Catalog, PlanningSession, missing_for

__all__ = ["check_can_run", "taken_up"]

_log = logging.getLogger(__name__)


def check_can_run(planning: PlanningSession, catalog: Catalog) -> None:
    """Raises if a pending view prevents the pipeline from running, and reports which views are suspended."""
    pending = catalog.pending.values()
    for view in pending:
        if view.problem:
            raise PipelineError(view.problem)
    for view in pending:
        missing = missing_for(planning, catalog, view)
        if view.declared:
            raise PipelineError(f"{missing}, before run()")
        gone = [
            table.name
            for table in catalog.tables.values()
            if not TableSchema.of(table).keeps_rows and view.name in catalog.readers(table.name)
        ]
        if gone:
            raise PipelineError(
                f"{missing}, before run(). The pipeline cannot run without it: rows that the view missed "
                f"would be lost, because {', '.join(gone)} does not keep its rows. If you no longer need the "
                f"view: DROP {'MATERIALIZED ' if view.materialized else ''}VIEW {view.name}"
            )
    for view in pending:
        _log.warning(
            "%s, before run(). Until then the view is suspended: it is not kept up to date, and it will be "
            "recomputed from the tables when it is declared",
            missing_for(planning, catalog, view),
        )


def taken_up(stored: Catalog, declared: Catalog) -> Catalog:
    """The stored catalogue, with those pending views planned that have been declared with their stored
    definition and whose sources have been, too."""
    for view in stored.pending.values():
        found = declared.views.get(view.name)
        waits = not stored.pending.keys().isdisjoint(view.uses)
        if found is not None and found.fingerprint == view.fingerprint and not waits:
            stored = stored.with_changed(found)
    return stored
