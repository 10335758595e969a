"""The oracle: every view, after every step, in every configuration, against batch Spark.

Spark's answers are computed once per step. Then each configuration gets one pipeline that holds *all*
queries as views, so that a hundred queries cost one gang and one stream. After each step two things must
hold for each view: it equals Spark's answer over the tables of that moment, and the running sum of all
changes the view ever reported equals the view. A view that failed is left alone for the rest of that run,
the others go on, and at the end the first failures are shrunk to small reproductions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import EvaluationError
from penstock.oracle.batch import Answer, BatchSpark
from penstock.oracle.drive import Config, Driver, Functions, OpenDriver, open_pipeline
from penstock.oracle.fixtures import Query, as_queries
from penstock.oracle.model import Model, Step
from penstock.oracle.stream import make_stream
from penstock.pipeline.compare import Mismatch, consolidate, difference
from penstock.pipeline.tables import TableSchema

__all__ = [
    "Case",
    "Difference",
    "OracleError",
    "Report",
    "all_answers",
    "check",
    "check_error",
    "observe",
    "run_case",
]

TOLERANCE = 1e-9
_DETAIL_CHARS = 2000


@dataclass(frozen=True)
class Case:
    """Everything a run depends on."""

    tables: Sequence[TableSchema]
    queries: Sequence[Query]
    steps: Sequence[Step]
    config: Config
    functions: Functions = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """One view that was wrong. ``step`` counts from 0; ``query`` is empty where the whole step failed."""

    query: str
    config: Config
    step: int
    what: str
    detail: str

    def __str__(self) -> str:
        name = self.query or "the pipeline"
        return f"{name} ({self.config}), step {self.step}: {self.what}\n{self.detail}"


class OracleError(AssertionError):
    """At least one view was wrong; the message holds the differences and their reproductions."""


@dataclass
class Report:
    """What a check did."""

    queries: int
    steps: int
    comparisons: int = 0
    differences: list[Difference] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        times = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in self.seconds.items())
        return (
            f"{self.queries} queries, {self.steps} steps, {self.comparisons} comparisons, "
            f"{len(self.differences)} differences ({times})"
        )


def check(
    spark: SparkSession,
    tables: Sequence[TableSchema],
    queries: Mapping[str, str] | Sequence[Query],
    steps: int | Sequence[Step] = 20,
    *,
    configurations: Sequence[Config] = (Config(1),),
    seed: int = 0,
    shrink_seconds: float = 60.0,
    open_driver: OpenDriver = open_pipeline,
    functions: Functions | None = None,
) -> Report:
    """Run everything; raises :class:`OracleError` with small reproductions if any view was ever wrong.

    ``steps`` is a number of random steps (from ``seed``) or the steps themselves; ``functions`` are the
    Python functions (PySpark's UDF objects) that queries call, by name.
    """
    from penstock.oracle.shrink import reproduction

    listed = as_queries(queries)
    stream = make_stream(tables, steps, seed) if isinstance(steps, int) else list(steps)
    report = Report(len(listed), len(stream))
    started = time.monotonic()
    functions = functions or {}
    answers = all_answers(spark, tables, listed, stream, functions)
    report.seconds["batch Spark"] = time.monotonic() - started
    for config in configurations:
        started = time.monotonic()
        case = Case(tables, listed, stream, config, functions)
        _run(spark, case, answers, report, open_driver)
        report.seconds[str(config)] = time.monotonic() - started
    if not report.differences:
        return report
    text = [f"{len(report.differences)} differences (seed {seed}):", *map(str, report.differences)]
    first = report.differences[0]
    failing = Case(tables, listed, stream, first.config, functions)
    text.append(reproduction(spark, failing, first, shrink_seconds, open_driver))
    raise OracleError("\n".join(text))


def run_case(spark: SparkSession, case: Case, open_driver: OpenDriver) -> list[Difference]:
    """The differences of one case, run from an empty pipeline."""
    report = Report(len(case.queries), len(case.steps))
    answers = all_answers(spark, case.tables, case.queries, case.steps, case.functions)
    _run(spark, case, answers, report, open_driver)
    return report.differences


def all_answers(
    spark: SparkSession,
    tables: Sequence[TableSchema],
    queries: Sequence[Query],
    steps: Sequence[Step],
    functions: Functions,
) -> list[dict[str, Answer]]:
    """Spark's answer to every query after every step."""
    batch, model = BatchSpark(spark, tables, queries, functions), Model(tables)
    answers: list[dict[str, Answer]] = []
    for number, step in enumerate(steps):
        if step or not answers:
            model.apply(step)
            answers.append(batch.answers(model.all_contents()))
        else:
            answers.append(answers[-1])
        for name, answer in answers[-1].items():
            if isinstance(answer, PySparkException):
                raise ValueError(f"Spark itself fails on {name} at step {number}: {answer}")
    return answers


def _run(
    spark: SparkSession,
    case: Case,
    answers: Sequence[Mapping[str, Answer]],
    report: Report,
    open_driver: OpenDriver,
) -> None:
    opened = False
    try:
        with open_driver(spark, case.tables, case.queries, case.config, case.functions) as driver:
            opened = True
            observe(driver, case, answers, report)
    except Exception as problem:  # whatever a pipeline raises is a finding, to be shrunk and reported
        report.differences.append(_raised(problem, case, len(case.steps) if opened else -1))


def observe(
    driver: Driver,
    case: Case,
    answers: Sequence[Mapping[str, Answer]],
    report: Report,
    baseline: Mapping[str, pa.Table] | None = None,
) -> None:
    """Run the steps of a case through an open pipeline and compare after each.

    ``baseline`` is what the views hold at the start, where that is not the beginning of the pipeline.
    """
    views = [_View(query, (baseline or {}).get(query.name)) for query in case.queries]
    for number, step in enumerate(case.steps):
        try:
            driver.step(step)
        except Exception as problem:  # as above
            report.differences.append(_raised(problem, case, number))
            return
        for view in [*views]:
            report.comparisons += 1
            wrong = view.wrong(driver, answers[number][view.query.name])
            if wrong is not None:
                what, mismatch = wrong
                report.differences.append(
                    Difference(view.query.name, case.config, number, what, str(mismatch))
                )
                views.remove(view)


def _raised(problem: Exception, case: Case, step: int) -> Difference:
    view = getattr(problem, "view", "")
    known = view if view in {query.name for query in case.queries} else ""
    detail = f"{type(problem).__name__}: {problem}"[:_DETAIL_CHARS]  # Java's stack traces are pages
    return Difference(known, case.config, step, "raised an error", detail)


class _View:
    """One view under observation: what it must equal, and the sum of its changes so far."""

    def __init__(self, query: Query, baseline: pa.Table | None) -> None:
        self.query = query
        self._sum = None if baseline is None else (baseline, np.ones(len(baseline), np.int64))

    def wrong(self, driver: Driver, expected: Answer) -> tuple[str, Mismatch] | None:
        """What is wrong with the view after a step, if anything."""
        contents = driver.read(self.query.name)
        summed = driver.summed(self.query.name)
        mismatch = difference(contents, expected, approx=summed, tolerance=TOLERANCE)
        if mismatch is not None:
            return "the view is not Spark's batch answer", mismatch
        changes = driver.changes(self.query.name)
        weights = changes.column("_weight").to_numpy()
        rows = changes.select([n for n in changes.schema.names if n not in ("_weight", "_step")])
        if self._sum is not None:
            rows = pa.concat_tables([self._sum[0], rows])
            weights = np.concatenate([self._sum[1], weights])
        self._sum = consolidate(rows, weights)
        mismatch = difference(self._sum[0], contents, actual_weights=self._sum[1])
        if mismatch is not None:
            return "the sum of the view's changes is not the view", mismatch
        return None


def check_error(
    spark: SparkSession,
    tables: Sequence[TableSchema],
    query: str,
    steps: Sequence[Step],
    *,
    configurations: Sequence[Config] = (Config(1),),
    open_driver: OpenDriver = open_pipeline,
    functions: Functions | None = None,
) -> str:
    """The last of ``steps`` must make Spark's batch query fail, and the pipeline's step with the same error.

    After that the failed step must not have happened: the view is as before it and goes on to be. Returns
    the name of the error.
    """
    asked = Query("failing", query)
    functions = functions or {}
    batch, model = BatchSpark(spark, tables, [asked], functions), Model(tables)
    for step in steps[:-1]:
        model.apply(step)
    before = batch.answers(model.all_contents())["failing"]
    model.apply(steps[-1])
    answer = batch.answers(model.all_contents())["failing"]
    if not isinstance(answer, PySparkException):
        raise ValueError("Spark answers the query after the last step; it should fail")
    condition = str(answer.getCondition())
    for config in configurations:
        with open_driver(spark, tables, [asked], config, functions) as driver:
            for step in steps[:-1]:
                driver.step(step)
            try:
                driver.step(steps[-1])
            except EvaluationError as problem:
                if problem.condition != condition:
                    raise OracleError(f"{config}: raised {problem.condition}, Spark {condition}") from problem
            else:
                raise OracleError(f"{config}: the step went through, Spark raises {condition}")
            driver.step(())
            mismatch = difference(driver.read("failing"), before)
            if mismatch is not None:
                raise OracleError(f"{config}: the failed step left traces\n{mismatch}")
    return condition
