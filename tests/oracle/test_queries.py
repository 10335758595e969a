"""Every query of the collection, kept up to date through a random stream, equals batch Spark at each step.

This is the quick form: one stream, few steps, a sample of the queries in a resident pipeline and fewer in a
staged one (where each step is a Spark job). The full form takes all queries, 20 steps and 1, 2 or 3
workers both ways: PENSTOCK_ORACLE=full, or the command in docs/testing.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.oracle import Config, check, check_error, read_queries, read_tables, steps_from, table
from penstock.oracle.fixtures import closed

HERE = Path(__file__).parent
QUERIES = read_queries(sorted((HERE / "queries").glob("*.sql")))
FULL = os.environ.get("PENSTOCK_ORACLE") == "full"
SEED = int(os.environ.get("PENSTOCK_ORACLE_SEED", "1"))
RESIDENT = [Config(workers) for workers in ((1, 2, 3) if FULL else (2,))]
STAGED = [Config(workers, "staged") for workers in ((1, 2, 3) if FULL else (2,))]


def run(spark: SparkSession, step: int, configurations: list[Config], steps: int) -> None:
    """Checks every ``step``-th query (and the views these read)."""
    tables = read_tables((HERE / "tables.sql").read_text(encoding="utf-8"))
    queries = closed(QUERIES, QUERIES[::step])
    report = check(spark, tables, queries, steps, configurations=configurations, seed=SEED)
    assert report.comparisons == len(queries) * steps * len(configurations)


@pytest.mark.timeout(7200 if FULL else 900)
def test_every_view_of_a_resident_pipeline_equals_batch_spark_after_every_step(spark: SparkSession) -> None:
    run(spark, 1 if FULL else 6, RESIDENT, 20 if FULL else 4)


@pytest.mark.timeout(7200 if FULL else 900)
def test_every_view_of_a_staged_pipeline_equals_batch_spark_after_every_step(spark: SparkSession) -> None:
    run(spark, 1 if FULL else 24, STAGED, 20 if FULL else 3)


def test_there_are_many_queries_of_every_kind() -> None:
    assert len(QUERIES) >= 90
    assert all(query.sql for query in QUERIES)


ERRORS = {
    "DIVIDE_BY_ZERO": ("SELECT 10 DIV k AS q FROM t", {"k": 0, "s": "1", "x": 1}),
    "ARITHMETIC_OVERFLOW": ("SELECT x + 1 AS y FROM t", {"k": 1, "s": "1", "x": 2**63 - 1}),
    "CAST_INVALID_INPUT": ("SELECT CAST(s AS INT) AS n FROM t", {"k": 1, "s": "one", "x": 1}),
    "CAST_OVERFLOW": ("SELECT CAST(x AS TINYINT) AS n FROM t", {"k": 1, "s": "1", "x": 1000}),
}


@pytest.mark.parametrize("condition", ERRORS)
def test_what_fails_in_spark_fails_in_a_step_and_leaves_no_trace(spark: SparkSession, condition: str) -> None:
    tables = [table("t", "k INT, s STRING, x BIGINT")]
    query, bad = ERRORS[condition]
    good = {"k": 2, "s": "7", "x": 3}
    steps = steps_from(tables, [[("t", "insert", [good])], [("t", "insert", [good, bad])]])
    found = check_error(spark, tables, query, steps, configurations=[Config(1, "staged")])
    assert found == condition
