"""Holds every call of the sweep against Spark, a hundred to a query.

A call ends in one of four ways: Spark's analyser refuses it, which is not our concern; it is refused here
when the view is created; both sides give the same values; or both fail with the same error. Everything
else is a :class:`Problem`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from py4j.java_gateway import _garbage_collect_object
from py4j.protocol import Py4JJavaError, get_command_part, is_error
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import EvaluationError, UnsupportedQuery
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr, Literal
from penstock.expr.types import to_arrow
from tests.expr.checker import Checker, differences, show, spark_result
from tests.expr.sweep import DDL, Call, rows

__all__ = ["Outcome", "Problem", "Sweep", "is_analysed"]

_AT_ONCE = 100
_NO_ARROW = "UNSUPPORTED_DATA_TYPE_FOR_ARROW_CONVERSION"


def is_analysed(spark: SparkSession, query: str) -> bool:
    """Whether Spark's analyser takes a query. PySpark is not asked: refusals take it longer than Spark."""
    session, client = spark._jsparkSession, spark._jsparkSession._gateway_client
    answer = client.send_command(f"c\n{session._target_id}\nsql\n{get_command_part(query)}e\n")
    _garbage_collect_object(client, answer[answer.rindex("o") :])
    return not is_error(answer)[0]


@dataclass(frozen=True)
class Problem:
    """A call that was accepted and then was not what Spark makes of it."""

    call: Call
    what: str

    def __str__(self) -> str:
        return f"{self.call.text}: {self.what}"


@dataclass(frozen=True)
class Outcome:
    """How many calls ended in which way, those refused here with the reason, and the problems."""

    counts: Counter[str]
    refused: tuple[tuple[Call, str], ...]
    problems: tuple[Problem, ...]


class Sweep:
    """The rows of the sweep in Spark, and the comparison of calls over them."""

    def __init__(self, spark: SparkSession) -> None:
        self.checker = Checker(spark, rows(), DDL)
        for session in (self.checker.batch, self.checker.planning):
            session.conf.set("spark.sql.codegen.wholeStage", "false")
            session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            session.conf.set("spark.sql.timeType.enabled", "true")
        self._columns = self.checker.columns()
        self._counts: Counter[str] = Counter()
        self._refused: list[tuple[Call, str]] = []
        self._problems: list[Problem] = []

    def run(self, calls: Sequence[Call], ansi: bool) -> Outcome:
        """Every call under one of the two modes."""
        self._counts, self._refused, self._problems = Counter(), [], []
        for session in (self.checker.batch, self.checker.planning):
            session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        accepted = [call for call in calls if self._is_analysed(call)]
        self._counts["not for Spark"] = len(calls) - len(accepted)
        for start in range(0, len(accepted), _AT_ONCE):
            self._compare(list(self._planned(accepted[start : start + _AT_ONCE], ansi)))
        return Outcome(self._counts, tuple(self._refused), tuple(self._problems))

    def _is_analysed(self, call: Call) -> bool:
        return is_analysed(self.checker.planning, f"SELECT {call.text} AS c FROM t")

    def _planned(self, calls: Sequence[Call], ansi: bool) -> Iterator[tuple[Call, Expr]]:
        """The calls that are taken, as expressions."""
        try:
            planned = self.checker.planned([call.text for call in calls], ansi)
        except (PySparkException, Py4JJavaError) as error:
            if len(calls) == 1:
                self._not_planned(calls[0], error)
                return
            for half in (calls[: len(calls) // 2], calls[len(calls) // 2 :]):
                yield from self._planned(half, ansi)
            return
        for call, expr in zip(calls, planned, strict=True):
            if isinstance(expr, Exception):
                self._not_planned(call, expr)
            else:
                yield call, expr

    def _not_planned(self, call: Call, error: Exception) -> None:
        if isinstance(error, UnsupportedQuery):
            self._counts["refused"] += 1
            self._refused.append((call, str(error)))
        elif isinstance(error, (PySparkException, Py4JJavaError)):
            self._counts["not for Spark"] += 1  # a constant part that fails when the query is optimised
        else:
            self._problems.append(Problem(call, f"planning: {type(error).__name__}: {error}"))

    def _compare(self, planned: Sequence[tuple[Call, Expr]]) -> None:
        found: list[tuple[Call, Expr, pa.Array]] = []
        for call, expr in planned:
            if isinstance(expr, Literal):
                self._counts["computed by Spark's optimiser"] += 1
                continue
            try:
                found.append((call, expr, self.checker.value(expr, self._columns)))
            except EvaluationError as error:
                self._expect_error(call, expr, error.condition)
            except Exception as error:
                self._problems.append(Problem(call, f"{type(error).__name__}: {error}"))
        self._compare_values(found)

    def _expect_error(self, call: Call, expr: Expr, condition: str | None) -> None:
        try:
            spark_result(self.checker.batch.sql(f"SELECT {call.text} AS c0 FROM t"))
        except PySparkException as error:
            # None is an exception of Java's own. Where rows fail differently, Spark names the first one.
            if error.getCondition() in (condition, None, _NO_ARROW, self._first_error(expr)):
                self._counts["same error"] += 1
            else:
                self._problems.append(Problem(call, f"{condition}, Spark says {error.getCondition()}"))
            return
        self._problems.append(Problem(call, f"{condition}, Spark gives values"))

    def _first_error(self, expr: Expr) -> str | None:
        for row in range(len(self.checker.samples)):
            try:
                evaluate(expr, [column.slice(row, 1) for column in self._columns], 1)
            except EvaluationError as error:
                return error.condition
        return None

    def _not_compared(self, call: Call, error: Exception) -> None:
        """PySpark cannot hand over VOID that is never NULL, nor intervals of months inside other values."""
        condition = error.getCondition() if isinstance(error, PySparkException) else _NO_ARROW
        if condition == _NO_ARROW:
            self._counts["without an answer in Arrow"] += 1
        else:
            self._problems.append(Problem(call, f"values, Spark says {condition}"))

    def _compare_values(self, found: Sequence[tuple[Call, Expr, pa.Array]]) -> None:
        if not found:
            return
        outputs = ", ".join(f"{call.text} AS c{number}" for number, (call, _, _) in enumerate(found))
        frame = self.checker.batch.sql(f"SELECT {outputs} FROM t")
        try:
            wanted = spark_result(frame)
        except (PySparkException, ValueError) as error:
            if len(found) == 1:
                self._not_compared(found[0][0], error)
                return
            self._compare_values(found[: len(found) // 2])
            self._compare_values(found[len(found) // 2 :])
            return
        for (call, expr, got), column, field in zip(found, wanted, frame.schema.fields, strict=True):
            if to_arrow(expr.data_type) != to_arrow(field.dataType):
                kinds = f"{expr.data_type.simpleString()}, Spark has {field.dataType.simpleString()}"
                self._problems.append(Problem(call, f"type {kinds}"))
            elif len(different := differences(got, column)):
                row = int(different[0])
                what = f"{show(got, row)} in row {row}, Spark has {show(column, row)}"
                self._problems.append(Problem(call, what))
            else:
                self._counts["same values"] += 1
