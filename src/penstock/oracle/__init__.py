"""The oracle: random change streams through real pipelines, every view compared with batch Spark.

    tables = [table("orders", "id BIGINT, customer STRING, amount DECIMAL(12,2)", key=["id"])]
    queries = {"revenue": "SELECT customer, sum(amount) AS total FROM orders GROUP BY customer"}
    check(spark, tables, queries, steps=20, configurations=[Config(1), Config(2, "staged")], seed=7)

It is part of the package because it is of use outside: whoever changes a query, a version or a cluster can
put their own tables and queries to it. See ``docs/testing.md``.
"""

from __future__ import annotations

from penstock.oracle.drive import Config
from penstock.oracle.fixtures import Query, create_table, read_queries, read_tables, table
from penstock.oracle.generate import Profile, random_rows
from penstock.oracle.harness import OracleError, Report, check, check_error
from penstock.oracle.model import Change, Model, Step
from penstock.oracle.stream import make_stream, steps_from
from penstock.pipeline.compare import Mismatch, difference

__all__ = [
    "Change",
    "Config",
    "Mismatch",
    "Model",
    "OracleError",
    "Profile",
    "Query",
    "Report",
    "Step",
    "check",
    "check_error",
    "create_table",
    "difference",
    "make_stream",
    "random_rows",
    "read_queries",
    "read_tables",
    "steps_from",
    "table",
]
