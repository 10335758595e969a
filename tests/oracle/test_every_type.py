"""Aggregates, windows, generators, keys and joins over columns of every type: what is taken must work.

The sweep of tests/expr does the same for functions of single rows. Each query that Spark's analyser and the
planner take becomes a view; the views of a pipeline are then compared with Spark. Where Spark leaves the
answer open (docs/row-order.md) a view only has to run. The quick form takes one query of each kind, over a
column whose type changes from kind to kind; ``PENSTOCK_SWEEP=full`` takes all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.errors import PenstockError, UnsupportedQuery
from penstock.pipeline.contents import arrow_of, frame_of
from penstock.pipeline.verify import difference_of
from penstock.sql import PlanningSession, import_view
from scripts.sql_coverage.inventory import function_info
from tests.expr.sweep import DDL, columns, rows, schema, supported
from tests.expr.sweeping import is_analysed

FULL = os.environ.get("PENSTOCK_SWEEP") == "full"
_AGGREGATED = (
    "{0}({1})",
    "{0}({1}, 0.5)",
    "{0}({1}, i4)",
    "{0}(i4, {1})",
    "{0}(DISTINCT {1})",
    "{0}({1}, true)",
)
_UNORDERED = ("array_agg", "collect_list", "collect_set")
_QUERIES = (
    "SELECT {0} AS g, count(*) AS c FROM t GROUP BY {0}",
    "SELECT DISTINCT {0} AS g FROM t",
    "SELECT l.i4, r.i8 FROM t l JOIN t r ON l.{0} = r.{0}",
    "SELECT l.i4, r.i8 FROM t l LEFT JOIN t r ON l.{0} <=> r.{0}",
    "SELECT i4, {0} FROM t ORDER BY {0}, i4 LIMIT 2",
    "SELECT {0} AS g FROM t UNION SELECT {0} FROM t",
    "SELECT {0} AS g FROM t EXCEPT ALL SELECT {0} FROM t WHERE bo",
    "SELECT i4, {0} IN (SELECT {0} FROM t WHERE bo) AS g FROM t",
    "SELECT i4, (SELECT max({0}) FROM t) AS g FROM t",
    "SELECT i4, row_number() OVER (PARTITION BY {0} ORDER BY i4, i8) AS g FROM t",
    "SELECT i4, rank() OVER (PARTITION BY bo ORDER BY {0}) AS g FROM t",
    "SELECT i4, ntile(2) OVER (ORDER BY {0}, i4, i8) AS g FROM t",
    "SELECT i4, lag({0}) OVER (PARTITION BY bo ORDER BY i4, i8) AS g FROM t",
    "SELECT i4, lead({0}, 1, {0}) OVER (PARTITION BY bo ORDER BY i4, i8) AS g FROM t",
    "SELECT i4, nth_value({0}, 2) OVER (PARTITION BY bo ORDER BY i4) AS g FROM t",
    "SELECT i4, last_value({0}) IGNORE NULLS OVER (PARTITION BY bo ORDER BY i4) AS g FROM t",
    "SELECT i4, max({0}) OVER (PARTITION BY bo ORDER BY i4) AS g FROM t",
    "SELECT i4, sum({0}) OVER (PARTITION BY bo ORDER BY i4 ROWS 1 PRECEDING) AS g FROM t",
    "SELECT i4, count(*) OVER (ORDER BY {0} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS g FROM t",
    "SELECT i4, count(*) OVER (ORDER BY {0} RANGE 1 PRECEDING) AS g FROM t",
    "SELECT i4, count(*) OVER (ORDER BY {0} RANGE INTERVAL 1 DAY PRECEDING) AS g FROM t",
    "SELECT i4, collect_list({0}) OVER (PARTITION BY bo ORDER BY i4, i8) AS g FROM t",
    "SELECT i4, explode({0}) FROM t",
    "SELECT i4, posexplode_outer({0}) FROM t",
    "SELECT i4, inline(array({0})) FROM t",
    "SELECT i4, stack(2, {0}, {0}) FROM t",
    "SELECT i4, json_tuple({0}, 'a', 'b') FROM t",
    "SELECT window(ts, '1 day') AS w, max({0}) AS g FROM t GROUP BY 1",
    "SELECT window({0}, '1 day') AS w, count(*) AS g FROM t GROUP BY 1",
    "SELECT session_window({0}, '1 day') AS w, count(*) AS g FROM t GROUP BY 1",
    "SELECT {0} AS g, bo, sum(i4) AS s FROM t GROUP BY ROLLUP ({0}, bo)",
    "SELECT * FROM (SELECT i4, bo, {0} AS x FROM t) PIVOT (max(x) FOR bo IN (true, false))",
    "SELECT * FROM (SELECT i4, {0} AS x FROM t) PIVOT (max(i4) FOR x IN (1, 2))",
)
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.timeType.enabled": "true",
}
"""A query of a few rows is one task, without Java that is compiled for it."""


def kinds(spark: SparkSession) -> Iterator[list[str]]:
    """Queries, whether or not Spark takes them: for each aggregate function, and for each other kind of
    query, those over every column."""
    for name in supported():
        info = function_info(spark, name)
        if info is not None and info.getGroup() == "agg_funcs":
            calls = [form.format(name, column) for form in _AGGREGATED for column in [*columns(), "NULL"]]
            ordered = [f"sort_array({call})" if name in _UNORDERED else call for call in calls]
            yield [f"SELECT bo, {call} AS c FROM t GROUP BY bo" for call in ordered]
    for query in _QUERIES:
        yield [query.format(column) for column in columns()]


@dataclass(frozen=True)
class Chosen:
    """A query that both sides take, and Spark's answer; None where Spark may give another one."""

    query: str
    answer: pa.Table | None


class Sides:
    """The planner, and Spark over the rows that the pipeline will hold."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark, self.planning = spark, PlanningSession(spark)
        self.planning.add_relation("t", schema())
        self.batch = spark.newSession()
        for key, value in _SETTINGS.items():
            self.batch.conf.set(key, value)
        kept = pa.concat_tables([rows(), rows().slice(0, 1), rows().slice(2)])
        frame_of(self.batch, kept, schema()).coalesce(1).createOrReplaceTempView("t")

    def chosen(self, query: str) -> Chosen | None:
        """The query, unless Spark's analyser or the planner refuses it or Spark fails to answer it."""
        if not is_analysed(self.planning.spark, query):
            return None
        try:
            view = import_view(self.planning, "v", query)
        except UnsupportedQuery:
            return None
        except PenstockError as error:  # column names that repeat, types no view may have
            assert "internal" not in str(error), f"{query}: {error}"
            return None
        try:
            answer = arrow_of(self.batch.sql(query))
        except PySparkException:
            return None
        return Chosen(query, None if any(note.open for note in view.notes) else answer)

    def of_each_kind(self) -> Iterator[Chosen]:
        """The full form: all that are chosen. The quick one: the first of each kind, from another column on
        for each kind."""
        for number, queries in enumerate(kinds(self.spark)):
            start = 0 if FULL else 7 * number % len(queries)
            found = filter(None, map(self.chosen, [*queries[start:], *queries[:start]]))
            yield from found if FULL else (one for one, _ in zip(found, range(1), strict=False))


def problems(spark: SparkSession, chosen: Sequence[Chosen]) -> Iterator[str]:
    """The queries that do not end equal to Spark; halves those that stop a step. Doubles may differ in their
    last digits: in most of these views they are sums."""
    pipe = Pipeline("types", storage="memory://", spark=spark, workers=1)
    pipe.sql(f"CREATE TABLE t ({DDL});")
    pipe.sql("\n".join(f"CREATE MATERIALIZED VIEW v{i} AS {one.query};" for i, one in enumerate(chosen)))
    try:
        with pipe.run() as run:
            run.insert("t", rows())
            run.step()
            run.insert("t", rows())
            run.delete("t", rows().slice(1, 1))
            run.step()
            found = [run.read(f"v{i}") for i in range(len(chosen))]
    except PenstockError as error:
        if len(chosen) == 1:
            yield f"{chosen[0].query}: {type(error).__name__}: {error}"
            return
        yield from problems(spark, chosen[: len(chosen) // 2])
        yield from problems(spark, chosen[len(chosen) // 2 :])
        return
    for one, ours in zip(chosen, found, strict=True):
        doubles = [field.name for field in ours.schema if pa.types.is_floating(field.type)]
        difference = one.answer is not None and difference_of(ours, one.answer, doubles)
        if difference:
            yield f"{one.query}: {difference}"


@pytest.mark.timeout(7200 if FULL else 900)
def test_what_is_taken_over_any_type_equals_spark(spark: SparkSession) -> None:
    chosen = list(Sides(spark).of_each_kind())
    assert len(chosen) > (1000 if FULL else 80)
    assert sum(one.answer is not None for one in chosen) > len(chosen) // 2
    found = [
        line for start in range(0, len(chosen), 60) for line in problems(spark, chosen[start : start + 60])
    ]
    assert not found, "\n".join(found)
