"""What the harness drives: a pipeline that holds all queries as views, behind four methods.

The harness knows pipelines only through :class:`Driver`, so its own tests can put a fake in their place, one
that is right and one that is wrong on purpose.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.oracle.fixtures import Query, create_table
from penstock.oracle.model import Step
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.tables import TableSchema
from penstock.sql import floating_sums
from penstock.sql.settings import MEANING

Mode = Literal["resident", "staged"]

__all__ = ["Config", "Driver", "Functions", "OpenDriver", "open_pipeline", "script"]


@dataclass(frozen=True)
class Config:
    """One way to run a pipeline."""

    workers: int = 1
    mode: Mode = "resident"

    def __str__(self) -> str:
        return f"{self.mode}, {self.workers} worker{'s' if self.workers != 1 else ''}"


class Driver(Protocol):
    """A running pipeline."""

    def step(self, step: Step) -> None:
        """Push the changes of a step and run it."""

    def read(self, view: str) -> pa.Table:
        """The rows a view holds."""

    def changes(self, view: str) -> pa.Table:
        """What changed in a view since the step before, with ``_weight`` and ``_step``."""

    def summed(self, view: str) -> Collection[str]:
        """The columns of a view that Spark computes by adding floating-point numbers."""


Functions = Mapping[str, Any]
"""Python functions that queries call: PySpark's UDF objects by name."""

OpenDriver = Callable[
    [SparkSession, Sequence[TableSchema], Sequence[Query], Config, Functions], AbstractContextManager[Driver]
]


def script(tables: Sequence[TableSchema], queries: Sequence[Query], *, keeps_rows: bool = True) -> str:
    """The SQL script that makes the tables and views, which keep their rows or only tell their changes."""
    statements = [create_table(table) for table in tables]
    listed = "" if keeps_rows else " TBLPROPERTIES ('keepRows' = 'false')"
    statements += [f"CREATE MATERIALIZED VIEW {query.name}{listed} AS\n{query.sql};" for query in queries]
    return "\n".join(statements)


@contextmanager
def open_pipeline(
    spark: SparkSession,
    tables: Sequence[TableSchema],
    queries: Sequence[Query],
    config: Config,
    functions: Functions | None = None,
) -> Iterator[Driver]:
    """A real pipeline over fresh storage, which goes when it is closed."""
    with tempfile.TemporaryDirectory(prefix="penstock-oracle-") as storage:
        settings = [(key, str(spark.conf.get(key))) for key in MEANING]
        settings += sorted({pair for query in queries for pair in query.settings})
        declared = tuple((functions or {}).items())
        planned = _planned(spark, script(tables, queries), tuple(settings), declared)
        pipe = planned.clone(storage, workers=config.workers, mode=config.mode)
        with pipe.run() as run:
            yield _PipelineDriver(run, floating_sums(pipe.catalog))


@lru_cache(maxsize=1)
def _planned(
    spark: SparkSession,
    text: str,
    settings: tuple[tuple[str, str], ...],
    functions: tuple[tuple[str, Any], ...],
) -> Pipeline:
    """All views, planned: how they are run changes nothing about that, and planning takes Spark long.
    ``settings`` are those of the session that do change it."""
    session = spark.newSession()
    for key, value in settings:
        session.conf.set(key, value)
    pipe = Pipeline("oracle", storage="memory://", spark=session)
    for name, function in functions:
        pipe.function(name, function)
    pipe.sql(text)
    return pipe


class _PipelineDriver:
    def __init__(self, run: Any, summed: Mapping[str, Collection[str]]) -> None:
        self._run, self._summed = run, summed
        self._before: int | None = None  # before the first step lies what a view holds when it is created
        self._now: int | None = None

    def step(self, step: Step) -> None:
        for change in step:
            getattr(self._run, change.operation)(change.table, change.rows)
        done = self._run.step().step
        self._before, self._now = self._now, done

    def read(self, view: str) -> pa.Table:
        contents: pa.Table = self._run.read(view)
        return contents

    def changes(self, view: str) -> pa.Table:
        changed: pa.Table = self._run.changes(view, since=self._before)
        return changed

    def summed(self, view: str) -> Collection[str]:
        return self._summed[view]
