"""Spark's own batch answers, which are the truth.

The tables of the moment become local relations of a session of its own (so that no temporary view or
setting leaks into the caller's), and every query is run over them as it stands. The data is tiny and the
queries are many, so everything that costs per query is turned off: adaptive execution, code generation, all
partitions but one; two queries are planned at a time.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType, YearMonthIntervalType

from penstock.expr.types import arrow_schema, without_lengths
from penstock.intake.arrow_values import from_arrow
from penstock.oracle.drive import Functions
from penstock.oracle.fixtures import Query, dependencies, reads
from penstock.pipeline.declared import declared_frame
from penstock.pipeline.tables import TableSchema
from penstock.sql.session import active_session_kept

__all__ = ["Answer", "BatchSpark", "to_arrow_table"]

Answer: TypeAlias = "pa.Table | PySparkException"
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.timeType.enabled": "true",
}
_AT_ONCE = 2


class BatchSpark:
    """Answers queries over given table contents in batch Spark."""

    def __init__(
        self,
        spark: SparkSession,
        tables: Sequence[TableSchema],
        queries: Sequence[Query],
        functions: Functions | None = None,
    ) -> None:
        self.tables, self.queries = tables, queries
        self._spark, self._session = spark, spark.newSession()
        timezone = spark.conf.get("spark.sql.session.timeZone")
        settings = dict(pair for query in queries for pair in query.settings)
        for name, value in {**settings, **_SETTINGS, "spark.sql.session.timeZone": str(timezone)}.items():
            self._session.conf.set(name, value)
        for name, function in (functions or {}).items():
            self._session.udf.register(name, function)
        below = dependencies(queries)
        self._read_by_others = set[str]().union(*below.values())
        self._reads = {
            query.name: {
                table.name
                for table in tables
                if any(reads(q, table.name) for q in _with(query, below, queries))
            }
            for query in queries
        }
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-oracle-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._contents: dict[str, pa.Table] = {}
        self._answers: dict[str, Answer] = {}

    def answers(self, contents: Mapping[str, pa.Table]) -> dict[str, Answer]:
        """The result of every query over ``contents``, or the error that Spark raises instead.

        Queries over tables that are as they were last time keep their answers.
        """
        changed = {
            table.name
            for table in self.tables
            if table.name not in self._contents or not contents[table.name].equals(self._contents[table.name])
        }
        self._contents = dict(contents)
        with active_session_kept(self._spark):
            for table in self.tables:
                if table.name in changed:
                    self._frame(table, contents[table.name]).createOrReplaceTempView(table.name)
        stale = [q for q in self.queries if q.name not in self._answers or self._reads[q.name] & changed]
        for query in stale:
            if query.name in self._read_by_others:
                self._session.sql(query.asked).createOrReplaceTempView(query.name)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for query, answer in zip(stale, pool.map(self._answer, stale), strict=True):
                self._answers[query.name] = answer
        return dict(self._answers)

    def _frame(self, table: TableSchema, rows: pa.Table) -> DataFrame:
        """A table's rows as a DataFrame. Arrow knows no year-month intervals: they come in as integers."""
        columns, selected = [], []
        for f in table.fields:
            months = isinstance(f.dataType, YearMonthIntervalType)
            columns.append(
                StructField(f.name, IntegerType() if months else without_lengths(f.dataType), f.nullable)
            )
            interval = f"CAST(make_ym_interval(0, `{f.name}`) AS {f.dataType.simpleString()}) AS `{f.name}`"
            selected.append(interval if months else f"`{f.name}`")
        frame = self._session.createDataFrame(rows, StructType(columns)).selectExpr(*selected)
        frame = declared_frame(frame, table.schema, self._folder)
        # Spark knows that what was coalesced to one partition needs no exchange: a query is one task.
        return frame.coalesce(1)

    def _answer(self, query: Query) -> Answer:
        try:
            return to_arrow_table(self._session.sql(query.asked))
        except PySparkException as problem:
            return problem


def _with(query: Query, below: Mapping[str, set[str]], queries: Sequence[Query]) -> list[Query]:
    """A query and all the queries it reads."""
    return [other for other in queries if other is query or other.name in below[query.name]]


def to_arrow_table(frame: DataFrame) -> pa.Table:
    """A DataFrame's rows with exactly the Arrow types that Penstock gives its Spark types."""
    fields = frame.schema.fields
    if any(isinstance(f.dataType, YearMonthIntervalType) for f in fields):
        frame = frame.selectExpr(
            *(
                f"CAST(CAST(`{f.name}` AS INTERVAL MONTH) AS INT) AS `{f.name}`"
                if isinstance(f.dataType, YearMonthIntervalType)
                else f"`{f.name}`"
                for f in fields
            )
        )
    rows = frame.toArrow()
    columns = [
        pa.chunked_array([from_arrow(chunk, f.dataType, "UTC") for chunk in column.chunks], wanted.type)
        for column, f, wanted in zip(
            rows.columns, fields, arrow_schema([(f.name, f.dataType) for f in fields]), strict=True
        )
    ]
    return pa.Table.from_arrays(columns, names=[f.name for f in fields])
