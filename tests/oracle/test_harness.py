"""The harness finds nothing where nothing is wrong, and makes what it finds small."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.oracle import Config, OracleError, Query, check, check_error, make_stream, steps_from, table
from penstock.oracle.harness import Case, run_case
from penstock.oracle.shrink import minimal, shrink
from penstock.pipeline.tables import TableSchema
from tests.oracle.fake_pipelines import (
    BatchPipeline,
    DoublesChanges,
    ForgetsDeletes,
    LosesRows,
    Make,
    Raises,
    SwallowsErrors,
    opening,
)

QUERIES = [
    Query("rows_of_t", "SELECT k, v FROM t"),
    Query("groups", "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"),
    Query("on_view", "SELECT k, n FROM groups WHERE n > 1"),
]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> list[TableSchema]:
    return [
        table("t", "k INT COMMENT 'tame', v STRING, x DOUBLE COMMENT 'tame'"),
        table("u", "id BIGINT, k INT", key=["id"]),
    ]


def test_a_right_pipeline_passes(spark: SparkSession, tables: list[TableSchema]) -> None:
    configurations = [Config(1), Config(2, "staged")]
    report = check(
        spark, tables, QUERIES, 6, configurations=configurations, open_driver=opening(BatchPipeline)
    )
    assert (report.comparisons, report.differences) == (3 * 6 * 2, [])
    assert str(report).startswith("3 queries, 6 steps, 36 comparisons, 0 differences (batch Spark")


@pytest.mark.parametrize(
    ("wrong", "query", "steps", "rows"),
    [
        (LosesRows, "rows_of_t", 1, 1),
        (ForgetsDeletes, "rows_of_t", 2, 2),
        (DoublesChanges, "rows_of_t", 1, 1),
    ],
)
def test_a_wrong_view_is_found_and_shrunk_to_a_few_rows(
    spark: SparkSession, tables: list[TableSchema], wrong: Make, query: str, steps: int, rows: int
) -> None:
    case = Case(tables, QUERIES, make_stream(tables, 5, 2, huge=20), Config(1))
    differences = run_case(spark, case, opening(wrong))
    assert differences[0].query == query
    small, found = shrink(spark, case, differences[0], 120, opening(wrong))
    assert [q.name for q in small.queries] == [query]
    assert len(small.steps) == steps
    assert sum(len(change.rows) for step in small.steps for change in step) == rows
    assert found.query == query


def test_an_error_of_unknown_origin_is_found_and_shrunk(
    spark: SparkSession, tables: list[TableSchema]
) -> None:
    case = Case(tables, QUERIES, make_stream(tables, 4, 2, huge=20), Config(1))
    [difference] = run_case(spark, case, opening(Raises))
    assert (difference.query, difference.detail) == ("", "RuntimeError: no deletes, please")
    small, _ = shrink(spark, case, difference, 120, opening(Raises))
    assert len(small.queries) == 1
    assert [[c.operation for c in step] for step in small.steps][-1] == ["delete"]


def test_the_message_holds_a_script_that_fails_in_the_same_way(
    spark: SparkSession, tables: list[TableSchema]
) -> None:
    with pytest.raises(OracleError) as caught:
        check(spark, tables, QUERIES, 3, seed=5, open_driver=opening(LosesRows))
    text = str(caught.value)
    assert "differences (seed 5):" in text
    head, script = text.split("# --- smallest reproduction found", 1)
    assert "rows_of_t (resident, 1 worker), step 0: the view is not Spark's batch answer" in head
    lines = script.splitlines()[1:]
    source = "\n".join(line for line in lines if not line.startswith(("builder", "spark", "check(")))
    scope: dict[str, Any] = {}
    exec(source, scope)
    with pytest.raises(OracleError, match="rows_of_t"):
        check(spark, scope["tables"], scope["queries"], scope["steps"], open_driver=opening(LosesRows))
    assert check(spark, scope["tables"], scope["queries"], scope["steps"], open_driver=opening(BatchPipeline))


def test_minimal_finds_the_items_that_matter_and_no_others() -> None:
    tried = 0

    def fails(items: list[int]) -> bool:
        nonlocal tried
        tried += 1
        return {3, 70} <= set(items)

    assert minimal(list(range(100)), fails) == [3, 70]
    assert tried < 60


def test_an_error_of_spark_must_be_an_error_of_the_pipeline(
    spark: SparkSession, tables: list[TableSchema]
) -> None:
    steps = steps_from(
        tables,
        [
            [("t", "insert", [{"k": 1, "v": "a", "x": 1.0}])],
            [("t", "insert", [{"k": 0, "v": "b", "x": 1.0}])],
        ],
    )
    query = "SELECT v, 10 DIV k AS q FROM t"
    assert check_error(spark, tables, query, steps, open_driver=opening(BatchPipeline)) == "DIVIDE_BY_ZERO"
    with pytest.raises(OracleError, match="the step went through, Spark raises DIVIDE_BY_ZERO"):
        check_error(spark, tables, query, steps, open_driver=opening(SwallowsErrors))
    with pytest.raises(ValueError, match="it should fail"):
        check_error(spark, tables, query, steps[:1], open_driver=opening(BatchPipeline))
    with pytest.raises(ValueError, match="Spark itself fails on q at step 1"):
        check(spark, tables, {"q": query}, steps, open_driver=opening(BatchPipeline))
