"""From a failure in a hundred queries to a few rows of one.

Starting a pipeline takes seconds, running a step milliseconds, so the search runs all its trials in *one*
pipeline that holds the failing query alone: after each trial everything is deleted again, which leaves an
empty pipeline if that works (and is checked; if not, the next trial gets a new one). Steps go first, then
whole changes, then single rows, halving the pieces each time (delta debugging). The smallest case is run
once more from an empty pipeline; where it does not fail there, the last one that did is shown. Time is
limited, and running out of it only makes the reproduction longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.oracle.drive import Driver, OpenDriver
from penstock.oracle.fixtures import Query, closed, reads
from penstock.oracle.harness import Case, Difference, Report, all_answers, observe, run_case
from penstock.oracle.model import Change, Model, Operation, Step
from penstock.oracle.report import render
from penstock.pipeline.compare import difference

__all__ = ["minimal", "reproduction", "shrink"]

Item = TypeVar("Item")


def reproduction(
    spark: SparkSession, case: Case, first: Difference, seconds: float, open_driver: OpenDriver
) -> str:
    """A failing case as small as it could be made in the time, as a script."""
    small, found = shrink(spark, case, first, seconds, open_driver)
    return render(small, found)


def shrink(
    spark: SparkSession, case: Case, first: Difference, seconds: float, open_driver: OpenDriver
) -> tuple[Case, Difference]:
    """The smallest case found in about ``seconds`` that still fails, and how it fails."""
    deadline = time.monotonic() + seconds
    best, found = replace(case, steps=case.steps[: first.step + 1]), first

    def still_fails(queries: Sequence[Query]) -> bool:
        nonlocal best, found
        smaller = _restricted(best, closed(case.queries, queries))
        in_time = queries and time.monotonic() < deadline
        differences = run_case(spark, smaller, open_driver) if in_time else []
        if differences:
            found = differences[0]
            best = replace(smaller, steps=smaller.steps[: max(found.step, 0) + 1])
        return bool(differences)

    if first.query:
        still_fails([query for query in case.queries if query.name == first.query])
    else:
        minimal(list(reversed(case.queries)), still_fails)  # views on views go before what they read
    if found.step < 0:  # not even the views could be made: no step matters
        return replace(best, steps=[]), found
    with _Laboratory(spark, best, deadline, open_driver) as laboratory:
        steps = laboratory.shrink(list(best.steps))
    smallest = replace(best, steps=steps)
    differences = run_case(spark, smallest, open_driver)
    return (smallest, differences[0]) if differences else (best, found)


def _restricted(case: Case, queries: Sequence[Query]) -> Case:
    """The case with fewer queries, and only the tables these read."""
    tables = [table for table in case.tables if any(reads(query, table.name) for query in queries)]
    names = {table.name for table in tables}
    steps = [tuple(change for change in step if change.table in names) for step in case.steps]
    return replace(case, tables=tables, queries=queries, steps=steps)


def minimal(items: list[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """A short sublist of ``items`` that still fails: large pieces are left out first, then small ones."""
    size = max(1, len(items) // 2)
    while items:
        before, position = len(items), 0
        while position < len(items):
            candidate = items[:position] + items[position + size :]
            if fails(candidate):
                items = candidate
            else:
                position += size
        if size > 1:
            size //= 2
        elif len(items) == before:
            break
    return items


@dataclass(frozen=True)
class _Row:
    """One row of a stream, with its place in it."""

    step: int
    change: int
    table: str
    operation: Operation
    row: pa.RecordBatch


def _rows(steps: Sequence[Step]) -> list[_Row]:
    return [
        _Row(number, place, change.table, change.operation, change.rows.slice(row, 1))
        for number, step in enumerate(steps)
        for place, change in enumerate(step)
        for row in range(len(change.rows))
    ]


def _steps(rows: Sequence[_Row]) -> list[Step]:
    """Rows put together again into changes and steps; what became empty is gone."""
    steps: dict[int, dict[int, Change]] = {}
    for row in rows:
        changes = steps.setdefault(row.step, {})
        held = changes.get(row.change)
        batch = row.row if held is None else pa.concat_batches([held.rows, row.row])
        changes[row.change] = Change(row.table, row.operation, batch)
    return [tuple(changes.values()) for changes in steps.values()]


class _Laboratory:
    """Runs many streams through one pipeline, emptying it in between."""

    def __init__(self, spark: SparkSession, case: Case, deadline: float, open_driver: OpenDriver) -> None:
        self.spark, self.case, self.deadline, self.open_driver = spark, case, deadline, open_driver
        self.stack = ExitStack()
        self.driver: Driver | None = None
        self.baseline: dict[str, pa.Table] = {}

    def __enter__(self) -> _Laboratory:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def shrink(self, steps: list[Step]) -> list[Step]:
        steps = minimal(steps, self._fails)
        changes = [(number, change) for number, step in enumerate(steps) for change in step]
        changes = minimal(changes, lambda kept: self._fails(_by_step(kept)))
        return _steps(minimal(_rows(_by_step(changes)), lambda kept: self._fails(_steps(kept))))

    def _fails(self, steps: list[Step]) -> bool:
        if time.monotonic() > self.deadline:
            return False
        model = Model(self.case.tables)
        case = replace(self.case, steps=[model.apply(step) for step in steps])
        try:
            answers = all_answers(self.spark, case.tables, case.queries, case.steps, case.functions)
        except ValueError:  # a query that Spark cannot answer over fewer rows proves nothing
            return False
        report = Report(len(case.queries), len(case.steps))
        observe(self._opened(), case, answers, report, self.baseline)
        if not self._emptied(model):
            self._close()
        return bool(report.differences)

    def _opened(self) -> Driver:
        if self.driver is None:
            case = self.case
            self.driver = self.stack.enter_context(
                self.open_driver(self.spark, case.tables, case.queries, case.config, case.functions)
            )
            self.driver.step(())
            self.baseline = {query.name: self.driver.read(query.name) for query in case.queries}
        return self.driver

    def _emptied(self, model: Model) -> bool:
        """Delete everything; whether the pipeline is then as it was."""
        assert self.driver is not None
        step = tuple(
            Change(table.name, "delete", batch)
            for table in self.case.tables
            for batch in model.contents(table.name).combine_chunks().to_batches()
        )
        try:
            self.driver.step(step)
            return all(
                difference(self.driver.read(name), rows) is None for name, rows in self.baseline.items()
            )
        except Exception:  # any failure means the same here: this pipeline is of no more use
            return False

    def _close(self) -> None:
        self.driver = None
        with suppress(Exception):  # a pipeline that has gone wrong may fail to close too
            self.stack.close()


def _by_step(changes: Sequence[tuple[int, Change]]) -> list[Step]:
    steps: dict[int, list[Change]] = {}
    for number, change in changes:
        steps.setdefault(number, []).append(change)
    return [tuple(step) for step in steps.values()]
