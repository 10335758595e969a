"""Verification for users: compares a view with Spark's batch result over the current tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PipelineError
from penstock.pipeline.compare import difference
from penstock.pipeline.contents import arrow_of, frame_of
from penstock.pipeline.declared import declared_frame
from penstock.pipeline.relations import Relations
from penstock.pipeline.reports import Verification, VerifyReport
from penstock.sql import Catalog, Tables, floating_sums, register_functions

__all__ = ["batch_session", "batch_views", "difference_of", "readers_of", "verified"]


def batch_session(
    spark: SparkSession, settings: Mapping[str, str], functions: Iterable[Any] = ()
) -> SparkSession:
    """A separate session in which the pipeline's queries have the same meaning as in the pipeline."""
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    register_functions(session, functions)
    return session


def verified(
    session: SparkSession,
    relations: Relations,
    read: Callable[[str], pa.Table],
    beside: Path | None,
    name: str | None,
) -> Verification:
    """Computes a view (or all that can be) in ``session`` over the tables' rows from ``read``, and compares.
    Large tables are written into a folder ``beside`` the state."""
    catalog = relations.catalog
    gone = readers_of(catalog, relations.passing) | catalog.pending.keys()
    views = relations.stored_views
    checked = [view for view in views if view.keeps_rows and view.name not in gone]
    suspended = [view.name for view in catalog.pending.values() if view.materialized]
    unchecked = (*(view.name for view in views if view not in checked), *suspended)
    if name is not None:
        checked, unchecked = [relations.stored_view(name)], ()
        if checked[0].name in gone:
            raise PipelineError(
                f"view {checked[0].name} cannot be computed from scratch: it reads rows that are not "
                f"kept (of {', '.join(relations.passing)})"
            )
    reports = []
    summed = floating_sums(relations.catalog)
    with tempfile.TemporaryDirectory(prefix="verify-", dir=beside) as folder:
        frames = batch_views(session, catalog, read, Path(folder), without=gone)
        for view in checked:
            ours, theirs = read(view.name), arrow_of(frames[view.name])
            found = difference_of(ours, theirs, summed[view.name])
            left_open = _left_open(relations.catalog, view.name) if found else ()
            sizes = (ours.num_rows, theirs.num_rows)
            reports.append(VerifyReport(view.name, not found, *sizes, found, left_open))
    return Verification(reports, unchecked)


def _left_open(catalog: Catalog, name: str) -> tuple[str, ...]:
    """The nondeterministic constructs in a view's query or in those of the views it reads."""
    view = catalog.views.get(name)
    if view is None:
        return ()
    own = [note.construct for note in view.notes if note.open]
    below = [construct for used in view.uses for construct in _left_open(catalog, used)]
    return tuple(dict.fromkeys([*own, *below]))


def readers_of(catalog: Catalog, tables: Collection[str]) -> set[str]:
    """Some tables, and all views that read them, directly or through other views."""
    found = set(tables)
    for view in catalog.views.values():  # each after those it reads
        if not found.isdisjoint(view.uses):
            found.add(view.name)
    return found


def batch_views(
    session: SparkSession,
    catalog: Catalog,
    contents: Callable[[str], pa.Table],
    folder: Path,
    *,
    without: Collection[str] = (),
) -> dict[str, DataFrame]:
    """Every view as a batch query over the tables' current ``contents``, not yet computed, except those in
    ``without``. Large tables, and those with CHAR(n) or VARCHAR(n), are written to ``folder``, which must
    stay until all is computed."""
    frames: dict[str, DataFrame] = {}
    names: dict[str, str] = {}
    for relation in catalog.relations:
        if relation.name in without:
            continue
        if relation.name in catalog.tables:
            rows = frame_of(session, contents(relation.name), relation.schema, folder)
            frame = declared_frame(rows, relation.schema, folder)
        else:
            view = catalog.views[relation.name]
            if view.function is not None:
                frame = view.function(Tables(session, dict(names)))
            else:
                assert view.query is not None
                frame = session.sql(view.query)
            names_of = [column.name for column in view.columns]
            frame = frame.toDF(*names_of) if names_of else frame
            frames[relation.name] = frame
        names[relation.name.lower()] = relation.name
        frame.createOrReplaceTempView(f"`{relation.name}`")
    return frames


def difference_of(ours: pa.Table, theirs: pa.Table, summed: Collection[str] = ()) -> str:
    """How two results differ, in words; empty if they do not.

    Columns are compared by position. Spark adds floats in the order of its tasks, so the columns ``summed``
    may differ in the last digits; in all others every bit counts."""
    names = [f"{i}: {name}" for i, name in enumerate(ours.schema.names)]
    approx = [name for name, plain in zip(names, ours.schema.names, strict=True) if plain in summed]
    found = difference(ours.rename_columns(names), theirs.rename_columns(names), approx=approx)
    return "" if found is None else str(found)
