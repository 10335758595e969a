"""The oracle for users: Spark's own batch answer over the current tables, compared with a view."""

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
from penstock.pipeline.relations import Relations
from penstock.pipeline.reports import Verification, VerifyReport
from penstock.sql import Catalog, Tables, register_functions

__all__ = ["batch_session", "batch_views", "difference_of", "readers_of", "verified"]


def batch_session(
    spark: SparkSession, settings: Mapping[str, str], functions: Iterable[Any] = ()
) -> SparkSession:
    """A session beside the user's in which the pipeline's queries mean what they mean to the pipeline."""
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
    """Computes a view (or all that can be) in ``session`` over what ``read`` finds in the tables, and
    compares. Large tables are written into a folder ``beside`` the state."""
    gone = readers_of(relations.catalog, relations.passing)
    views = relations.stored_views
    checked = [view for view in views if view.keeps_rows and view.name not in gone]
    unchecked = tuple(view.name for view in views if view not in checked)
    if name is not None:
        checked, unchecked = [relations.stored_view(name)], ()
        if checked[0].name in gone:
            raise PipelineError(
                f"view {checked[0].name} cannot be computed from scratch: it reads rows that are not "
                f"kept (of {', '.join(relations.passing)})"
            )
    reports = []
    with tempfile.TemporaryDirectory(prefix="verify-", dir=beside) as folder:
        frames = batch_views(session, relations.catalog, read, Path(folder), without=gone)
        for view in checked:
            ours, theirs = read(view.name), arrow_of(frames[view.name])
            found = difference_of(ours, theirs)
            reports.append(VerifyReport(view.name, not found, ours.num_rows, theirs.num_rows, found))
    return Verification(reports, unchecked)


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
    folder: Path | None = None,
    *,
    without: Collection[str] = (),
) -> dict[str, DataFrame]:
    """Every view as a batch query over the tables' current ``contents``, not yet computed, but for those
    ``without``. Large tables are written to ``folder``, which must stay until all is."""
    frames: dict[str, DataFrame] = {}
    names: dict[str, str] = {}
    for relation in catalog.relations:
        if relation.name in without:
            continue
        if relation.name in catalog.tables:
            frame = frame_of(session, contents(relation.name), relation.schema, folder)
        else:
            view = catalog.views[relation.name]
            if view.function is not None:
                frame = view.function(Tables(session, dict(names)))
            else:
                assert view.query is not None
                frame = session.sql(view.query)
            frame = frame.toDF(*view.columns) if view.columns else frame
            frames[relation.name] = frame
        names[relation.name.lower()] = relation.name
        frame.createOrReplaceTempView(f"`{relation.name}`")
    return frames


def difference_of(ours: pa.Table, theirs: pa.Table) -> str:
    """How two results differ, in words; empty if they do not.

    Columns are compared by position. Spark adds floats in the order of its tasks, so those may differ in
    the last digits."""
    names = [f"{i}: {name}" for i, name in enumerate(ours.schema.names)]
    approx = [name for name, kind in zip(names, ours.schema.types, strict=True) if pa.types.is_floating(kind)]
    found = difference(ours.rename_columns(names), theirs.rename_columns(names), approx=approx)
    return "" if found is None else str(found)
