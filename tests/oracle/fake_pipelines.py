"""Pipelines that recompute everything in batch Spark: a right one, and ones that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.errors import EvaluationError
from penstock.oracle.batch import BatchSpark
from penstock.oracle.drive import Config, Driver, Functions, OpenDriver
from penstock.oracle.fixtures import Query
from penstock.oracle.model import Change, Model, Step
from penstock.pipeline.tables import TableSchema


class BatchPipeline:
    """Holds the tables in a model and answers each view by asking Spark."""

    def __init__(self, spark: SparkSession, tables: Sequence[TableSchema], queries: Sequence[Query]) -> None:
        self.batch, self.model = BatchSpark(spark, tables, queries), Model(tables)
        self.now = {name: table.slice(0, 0) for name, table in self._answers().items()}
        self.before = self.now

    def _answers(self) -> dict[str, pa.Table]:
        answers = self.batch.answers(self.model.all_contents())
        for answer in answers.values():
            if isinstance(answer, Exception):
                raise EvaluationError(str(answer.getCondition()), str(answer))
        return answers

    def step(self, step: Step) -> None:
        held = {t.name: self.model.contents(t.name) for t in self.batch.tables}
        self.model.apply(step)
        try:
            self.before, self.now = self.now, self._answers()
        except EvaluationError:
            self.model = Model(self.batch.tables)
            filled = (
                Change(n, "insert", b) for n, t in held.items() for b in t.combine_chunks().to_batches()
            )
            self.model.apply(tuple(filled))
            raise

    def read(self, view: str) -> pa.Table:
        return self.now[view]

    def changes(self, view: str) -> pa.Table:
        rows = pa.concat_tables([self.before[view], self.now[view]])
        weights = np.ones(len(rows), np.int64)
        weights[: len(self.before[view])] = -1
        return rows.append_column("_weight", pa.array(weights)).append_column("_step", pa.array(weights))

    def summed(self, view: str) -> tuple[str, ...]:
        return ()


class LosesRows(BatchPipeline):
    """Its views and their changes lack the rows whose ``k`` is 3."""

    def read(self, view: str) -> pa.Table:
        return _without_three(super().read(view))

    def changes(self, view: str) -> pa.Table:
        return _without_three(super().changes(view))


def _without_three(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(pc.equal(rows.column("k"), 3).fill_null(False)))


class ForgetsDeletes(BatchPipeline):
    """Deletes of rows that an earlier step inserted are ignored."""

    def step(self, step: Step) -> None:
        inserted = {change.table for change in step if change.operation != "delete"}
        super().step(tuple(c for c in step if c.operation != "delete" or c.table in inserted))


class DoublesChanges(BatchPipeline):
    """The views are right, but every change is reported twice."""

    def changes(self, view: str) -> pa.Table:
        rows = super().changes(view)
        return pa.concat_tables([rows, rows])


class Raises(BatchPipeline):
    """Fails on every step that deletes."""

    def step(self, step: Step) -> None:
        if any(change.operation == "delete" for change in step):
            raise RuntimeError("no deletes, please")
        super().step(step)


class SwallowsErrors(BatchPipeline):
    """Goes on where Spark would raise."""

    def step(self, step: Step) -> None:
        try:
            super().step(step)
        except EvaluationError:
            self.before = self.now


Make = Callable[[SparkSession, Sequence[TableSchema], Sequence[Query]], Driver]


def opening(make: Make) -> OpenDriver:
    """An ``open_driver`` for a kind of fake pipeline."""

    @contextmanager
    def opened(
        spark: SparkSession,
        tables: Sequence[TableSchema],
        queries: Sequence[Query],
        config: Config,
        functions: Functions | None = None,
    ) -> Iterator[Driver]:
        yield make(spark, tables, queries)

    return opened
