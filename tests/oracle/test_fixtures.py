"""Tables and queries as they stand in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DecimalType

from penstock.oracle import Query, create_table, read_queries, read_tables
from penstock.oracle.fixtures import as_queries, dependencies

TABLES = """
-- two tables
CREATE TABLE a (id BIGINT, v DECIMAL(12,2) COMMENT 'tame', n STRING NOT NULL, PRIMARY KEY (id, n));
create table b (st STRUCT<X: INT>);
"""


def test_tables_are_read_with_keys_hints_and_nested_types(spark: SparkSession) -> None:
    a, b = read_tables(TABLES)
    assert (a.name, a.primary_key, b.name, b.keyed) == ("a", ("id", "n"), "b", False)
    assert a.schema["v"].dataType == DecimalType(12, 2)
    assert a.schema["v"].metadata == {"comment": "tame"}
    assert create_table(a) == (
        "CREATE TABLE a (id BIGINT, v DECIMAL(12,2), n STRING NOT NULL, PRIMARY KEY (id, n));"
    )
    assert read_tables(create_table(b)) == [b]
    with pytest.raises(ValueError, match="no CREATE TABLE"):
        read_tables("SELECT 1")


def test_queries_are_read_by_name(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("-- about\n-- name: one\nSELECT 1\n  AS a;\n\n-- name: two\nSELECT 2\n")
    (tmp_path / "r.sql").write_text("-- name: three\n-- a remark\nSELECT sum(x)")
    one, two, three = read_queries([file, tmp_path / "r.sql"])
    assert one == Query("one", "SELECT 1\n  AS a")
    assert (two.sql, three.sql) == ("SELECT 2", "-- a remark\nSELECT sum(x)")
    with pytest.raises(ValueError, match="same name: one"):
        read_queries([file, file])


def test_a_query_depends_on_the_views_below_it() -> None:
    queries = as_queries(
        {"v": "SELECT * FROM t", "w": "SELECT * FROM v", "x": "SELECT v2 FROM w", "y": "SELECT 1"}
    )
    assert dependencies(queries) == {"v": set(), "w": {"v"}, "x": {"v", "w"}, "y": set()}
