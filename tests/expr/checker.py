"""Compares expressions evaluated here with Spark's own answers, row by row and bit by bit.

Spark computes ``SELECT expr`` over real rows. The same query is planned over an empty relation with the
same columns, its optimised expressions are imported and evaluated on the same rows, and types and values
must be equal. Many expressions share one query, because a query costs a tenth of a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.catalyst import expression_from_json
from penstock.expr.evaluate import Evaluator, evaluate
from penstock.expr.live import completed
from penstock.expr.nodes import Column, Expr, Literal
from penstock.expr.types import to_arrow
from penstock.sql.imported import substituted

_UNREAD = Literal(t.NullType(), True, None)
ZONE = "America/Los_Angeles"
_PLANNING = {
    "spark.sql.optimizer.inSetConversionThreshold": "1000000",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
}


@contextmanager
def active_session_kept(session: SparkSession) -> Iterator[None]:
    """Using another session makes it Spark's active one; afterwards ``session`` is that again."""
    try:
        yield
    finally:
        jvm: Any = session._jvm
        jvm.SparkSession.setActiveSession(session._jsparkSession)
        SparkSession._activeSession = session  # type: ignore[misc]


def _completed(nodes: list[dict[str, Any]], tree: Any) -> list[dict[str, Any]]:
    """The preorder list ``nodes`` of the live expression ``tree``, with what it lacks."""
    result: list[dict[str, Any]] = []

    def visit(twin: Callable[[], Any]) -> None:
        node = nodes[len(result)]
        result.append(completed(node, twin))
        for number in range(node["num-children"]):
            visit(lambda number=number: twin().children().apply(number))

    visit(lambda: tree)
    return result


class Checker:
    """A table of samples in Spark and in Arrow, and the comparison of expressions over it."""

    def __init__(self, spark: SparkSession, samples: pa.Table, ddl: str, zone: str = ZONE) -> None:
        self.zone = zone
        self.samples = samples
        self._schema = t.StructType.fromDDL(ddl)
        self.batch = self._session(spark)
        self.planning = self._session(spark)
        empty = self.planning.createDataFrame(spark.sparkContext.emptyRDD(), self._schema)
        empty.createOrReplaceTempView("t")
        self._data = self._load(samples)
        self._data.createOrReplaceTempView("t")

    def _session(self, spark: SparkSession) -> SparkSession:
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", self.zone)
        for key, value in _PLANNING.items():
            session.conf.set(key, value)
        return session

    def _load(self, samples: pa.Table) -> DataFrame:
        """The samples as a DataFrame. Intervals of months travel as integers: Arrow has no such type."""
        months = [isinstance(field.dataType, t.YearMonthIntervalType) for field in self._schema.fields]
        plain = t.StructType(
            [
                t.StructField(field.name, t.IntegerType() if month else field.dataType)
                for field, month in zip(self._schema.fields, months, strict=True)
            ]
        )
        frame = self.batch.createDataFrame(samples, plain)
        return frame.selectExpr(
            *[
                f"make_ym_interval(0, {field.name}) AS {field.name}" if month else field.name
                for field, month in zip(self._schema.fields, months, strict=True)
            ]
        )

    @contextmanager
    def setting(self, key: str, value: str) -> Iterator[None]:
        """Inside, both sessions have a setting that changes what expressions mean."""
        for session in (self.batch, self.planning):
            session.conf.set(key, value)
        try:
            yield
        finally:
            for session in (self.batch, self.planning):
                session.conf.unset(key)

    def plan(self, expressions: Sequence[str], ansi: bool = True) -> list[list[Expr]]:
        """The expressions as imported from Spark's optimised plan: one list per projection, innermost first.

        More than one projection appears where Catalyst computes a common part of several expressions once.
        """
        stages: list[list[Expr]] = []
        for stage in self._stages(expressions, ansi):
            for expr in stage:
                if isinstance(expr, Exception):
                    raise expr
            stages.append([expr for expr in stage if not isinstance(expr, Exception)])
        return stages

    def planned(self, expressions: Sequence[str], ansi: bool = True) -> list[Expr | Exception]:
        """Each expression over the samples, or the exception with which importing it failed."""
        inner: list[Expr | Exception] | None = None
        for stage in self._stages(expressions, ansi):
            inner = stage if inner is None else [_over(expr, inner) for expr in stage]
        assert inner is not None
        return inner

    def _stages(self, expressions: Sequence[str], ansi: bool) -> list[list[Expr | Exception]]:
        self.planning.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        outputs = ", ".join(f"{text} AS c{number}" for number, text in enumerate(expressions))
        plan = self.planning.sql(f"SELECT {outputs} FROM t")._jdf.queryExecution().optimizedPlan()
        nodes = json.loads(plan.toJSON())
        last_key_wins = self.planning.conf.get("spark.sql.mapKeyDedupPolicy") == "LAST_WIN"
        projections, leaf = nodes[:-1], nodes[-1]
        assert all(node["class"].endswith("Project") for node in projections), [n["class"] for n in nodes]
        twins = [plan]
        for _ in projections[1:]:
            twins.append(twins[-1].children().apply(0))
        fields = zip(leaf["output"], self._schema.fields, strict=True)
        known = {
            out[0]["exprId"]["id"]: Column(field.dataType, True, number, field.name)
            for number, (out, field) in enumerate(fields)
        }
        stages = []
        for node, twin in zip(reversed(projections), reversed(twins), strict=True):
            live = twin.projectList()
            stage: list[Expr | Exception] = []
            for number, items in enumerate(node["projectList"]):
                try:
                    whole = _completed(items, live.apply(number))
                    expr = expression_from_json(
                        whole, known.__getitem__, ansi, self.zone, last_key_wins=last_key_wins
                    )
                    stage.append(expr)
                except Exception as error:  # of any kind: the caller decides what it means
                    stage.append(error)
            known = {
                items[0]["exprId"]["id"]: Column(expr.data_type, expr.nullable, number)
                for number, (items, expr) in enumerate(zip(node["projectList"], stage, strict=True))
                if not isinstance(expr, Exception)
            }
            stages.append(stage)
        return stages

    def columns(self) -> list[pa.Array]:
        """The samples as contiguous Arrow columns in their physical types."""
        return [
            self.samples.column(field.name).combine_chunks().cast(to_arrow(field.dataType))
            for field in self._schema.fields
        ]

    def value(self, expr: Expr, columns: list[pa.Array]) -> pa.Array:
        """``expr`` on all samples, after it was computed on a part of them and on none."""
        start, rows = len(self.samples) // 3, len(self.samples) // 4
        evaluate(expr, [column.slice(start, rows) for column in columns], rows)
        evaluate(expr, [column.slice(start, 0) for column in columns], 0)
        got = evaluate(expr, columns, len(self.samples))
        got.validate(full=True)
        return got

    def check(self, expressions: str | Iterable[str], *, ansi: bool = True) -> None:
        """Every expression (in one text they are separated by semicolons) has Spark's type and values, by
        itself and beside the others."""
        if isinstance(expressions, str):
            expressions = expressions.split(";")
        texts = [text.strip() for text in expressions if text.strip()]
        *inner, outer = self.plan(texts, ansi)
        columns = self.columns()
        for stage in inner:
            columns = list(Evaluator(*stage)(columns, len(self.samples)))
        self.batch.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        outputs = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        frame = self.batch.sql(f"SELECT {outputs} FROM t")
        wanted = spark_result(frame)
        problems = []
        for number, (text, expr) in enumerate(zip(texts, outer, strict=True)):
            spark_type = frame.schema.fields[number].dataType
            problems += self._compare(text, expr, columns, spark_type, wanted[number])
        assert not problems, "\n".join(problems)
        together = Evaluator(*outer)(columns, len(self.samples))
        for text, expr, value in zip(texts, outer, together, strict=True):
            assert not len(differences(value, evaluate(expr, columns, len(self.samples)))), text

    def _compare(
        self,
        text: str,
        expr: Expr,
        columns: list[pa.Array],
        spark_type: t.DataType,
        wanted: pa.Array,
    ) -> list[str]:
        if to_arrow(expr.data_type) != to_arrow(spark_type):
            return [f"{text}: type {expr.data_type.simpleString()}, Spark has {spark_type.simpleString()}"]
        try:
            got = evaluate(expr, columns, len(self.samples))
            start, rows = len(self.samples) // 3, len(self.samples) // 4
            part = evaluate(expr, [column.slice(start, rows) for column in columns], rows)
            nothing = evaluate(expr, [column.slice(start, 0) for column in columns], 0)
        except EvaluationError as error:
            return [f"{text}: {error}"]
        got.validate(full=True)
        if len(nothing) or nothing.type != got.type:
            return [f"{text}: no rows give {nothing}"]
        if len(differences(part, got.slice(start, rows))):
            return [f"{text}: another result for a slice of the same rows"]
        if not expr.nullable and got.null_count:
            return [f"{text}: NULL in an expression that says it has none"]
        different = differences(got, wanted)
        if not len(different):
            return []
        row = int(different[0])
        inputs = {c: str(self.samples.column(c)[row]) for c in self.samples.column_names if c in text}
        return [
            f"{text}: {show(got, row)} instead of {show(wanted, row)} for {inputs} ({len(different)} rows)"
        ]

    def check_error(self, expression: str, values: str, condition: str, *, ansi: bool = True) -> None:
        """On the one row ``values`` (SQL literals, named as columns) both sides raise ``condition``."""
        self.batch.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        source = self.batch.sql(f"SELECT {values}")
        try:
            found = source.selectExpr(expression).collect()
            raise AssertionError(f"{expression}: Spark gives {found}")
        except PySparkException as error:
            assert error.getCondition() == condition, f"{expression}: Spark says {error.getCondition()}"
        rows = source.toArrow()
        width = {field.name: number for number, field in enumerate(self._schema.fields)}
        columns: list[Any] = [None] * len(width)
        for name in rows.column_names:
            kind = to_arrow(self._schema.fields[width[name]].dataType)
            columns[width[name]] = rows.column(name).combine_chunks().cast(kind)
        ((expr,),) = self.plan([expression], ansi)
        try:
            value = evaluate(expr, columns, 1)
            raise AssertionError(f"{expression}: no error but {value}")
        except EvaluationError as error:
            assert error.condition == condition, f"{expression}: {error}"


def _over(expr: Expr | Exception, inner: list[Expr | Exception]) -> Expr | Exception:
    """An expression over a projection as one over what the projection reads."""
    if isinstance(expr, Exception):
        return expr
    # What failed inside is not read by what did not: its column would not be known.
    return substituted(expr, tuple(_UNREAD if isinstance(part, Exception) else part for part in inner))


def spark_result(frame: DataFrame) -> list[pa.Array]:
    """Spark's result as Arrow arrays in the physical types used here."""
    fields = frame.schema.fields
    outputs = [
        f"CAST(CAST({field.name} AS INTERVAL MONTH) AS INT) AS {field.name}"
        if isinstance(field.dataType, t.YearMonthIntervalType)
        else field.name
        for field in fields
    ]
    table = frame.selectExpr(*outputs).toArrow()
    return [
        column.combine_chunks().cast(to_arrow(field.dataType))
        for field, column in zip(fields, table.columns, strict=True)
    ]


def differences(got: pa.Array, wanted: pa.Array) -> np.ndarray:
    """The rows in which two arrays differ; NaN equals NaN, and -0.0 does not equal 0.0."""
    missing = np.asarray(pc.is_null(got)) != np.asarray(pc.is_null(wanted))
    if pa.types.is_floating(got.type):
        a, b = (np.asarray(side.fill_null(0.0)) for side in (got, wanted))
        with np.errstate(all="ignore"):
            same = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
        return np.flatnonzero(missing | ~same)
    if pa.types.is_nested(got.type):
        kind = machine_type(got.type)
        pairs = zip(got.cast(kind).to_pylist(), wanted.cast(kind).to_pylist(), strict=True)
        return np.flatnonzero([repr(a) != repr(b) for a, b in pairs])
    if pa.types.is_null(got.type):
        return np.flatnonzero(missing)
    unequal = np.asarray(pc.not_equal(got, wanted).fill_null(False))
    return np.flatnonzero(missing | unequal)


def machine_type(kind: pa.DataType) -> pa.DataType:
    """The type with dates and times as numbers: Python's own end in the year 9999."""
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(machine_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(machine_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(machine_type(kind.key_type), machine_type(kind.item_type))
    if pa.types.is_date32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_temporal(kind) else kind


def show(array: pa.Array, row: int) -> str:
    """One value for a message."""
    scalar = array.cast(machine_type(array.type))[row] if pa.types.is_nested(array.type) else array[row]
    return (
        repr(pc.cast(scalar, pa.string()).as_py())
        if pa.types.is_temporal(scalar.type)
        else repr(scalar.as_py())
    )
