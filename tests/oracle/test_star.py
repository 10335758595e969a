"""Reports over a star schema, kept up to date through a random stream, equal batch Spark at each step.

The joins here are wide (up to ten tables) and the aggregates lie under windows, rollups and subqueries, as
reports have them. This is the quick form, a sample of the queries; the full form takes all of them, more
steps and more workers: PENSTOCK_ORACLE=full, or the command in docs/testing.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.oracle import Config, check, read_queries, read_tables
from penstock.oracle.fixtures import closed

HERE = Path(__file__).parent
QUERIES = read_queries(sorted((HERE / "star").glob("*.sql")))
FULL = os.environ.get("PENSTOCK_ORACLE") == "full"
SEED = int(os.environ.get("PENSTOCK_ORACLE_SEED", "1"))


@pytest.mark.timeout(7200 if FULL else 900)
def test_every_report_over_the_star_equals_batch_spark_after_every_step(spark: SparkSession) -> None:
    tables = read_tables((HERE / "star.sql").read_text(encoding="utf-8"))
    queries = closed(QUERIES, QUERIES[:: 1 if FULL else 8])
    steps, configurations = (20, [Config(1), Config(2), Config(3)]) if FULL else (3, [Config(2)])
    report = check(spark, tables, queries, steps, configurations=configurations, seed=SEED)
    assert report.comparisons == len(queries) * steps * len(configurations)


def test_there_are_a_hundred_reports_and_most_read_three_tables_or_more() -> None:
    tables = {table.name for table in read_tables((HERE / "star.sql").read_text(encoding="utf-8"))}
    wide = [query for query in QUERIES if len(query.words & tables) >= 3]
    assert len(QUERIES) >= 100
    assert len(wide) > len(QUERIES) / 2
