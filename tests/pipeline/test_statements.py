"""INSERT, UPDATE and DELETE change a table as Spark would, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import InputError, PenstockError, PipelineError, SqlError
from penstock.pipeline.pipeline import Mode, Pipeline
from penstock.pipeline.run import Run

SCRIPT = """
CREATE TABLE t (id BIGINT PRIMARY KEY, k STRING, v INT, d DECIMAL(6, 2));
CREATE TABLE bag (k STRING, x DOUBLE, m INTERVAL YEAR TO MONTH, l ARRAY<INT>);
CREATE TABLE log (a INT, note STRING) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE stream (a INT) TBLPROPERTIES ('appendOnly' = 'true', 'keepRows' = 'false');
CREATE VIEW few AS SELECT k FROM t GROUP BY k HAVING count(*) < 2;
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM t GROUP BY k;
CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM bag GROUP BY k;
CREATE MATERIALIZED VIEW seen AS SELECT sum(a) AS a FROM stream;
"""
ROWS = "INSERT INTO t VALUES (1, 'a', 1, 1.5), (2, 'a', 2, NULL), (3, 'b', 3, 3), (4, NULL, NULL, 4)"


@pytest.fixture(params=[("staged", 1), ("resident", 2)], ids=["staged", "resident"])
def run(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    mode: Mode
    mode, workers = request.param
    pipe = Pipeline("p", tmp_path / "state", workers=workers, mode=mode, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        assert run.sql(ROWS).input_rows == 4
        yield run
        assert run.verify()


def rows(run: Run, name: str = "t") -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in run.read(name).to_pylist()), key=repr)


def test_rows_are_inserted_updated_and_deleted(run: Run) -> None:
    assert rows(run) == [
        (1, "a", 1, Decimal("1.50")),
        (2, "a", 2, None),
        (3, "b", 3, Decimal("3.00")),
        (4, None, None, Decimal("4.00")),
    ]
    report = run.sql("UPDATE t SET v = v * 10, d = d + 0.006 WHERE k = 'a';")
    assert report.input_rows == 2 and report.changed_rows["totals"] == 2
    assert rows(run)[:2] == [(1, "a", 10, Decimal("1.51")), (2, "a", 20, None)]
    assert run.sql("DELETE FROM t AS x WHERE x.k IN (SELECT k FROM few) OR x.k IS NULL").input_rows == 2
    assert [row[0] for row in rows(run)] == [1, 2]
    run.sql("INSERT INTO t (v, id) SELECT total, 7 FROM totals WHERE k = 'a'")
    assert rows(run)[2] == (7, None, 30, None)
    run.sql("INSERT INTO t BY NAME SELECT 'z' AS k, 8 AS id")
    assert rows(run)[3] == (8, "z", None, None)
    assert run.sql("DELETE FROM t").input_rows == 4
    assert rows(run) == rows(run, "totals") == []
    assert run.sql("UPDATE t SET v = 1").input_rows == 0


def test_keys_can_be_changed_and_even_exchanged(run: Run) -> None:
    run.sql("UPDATE t SET id = 5 - id")
    assert [(row[0], row[1]) for row in rows(run)] == [(1, None), (2, "b"), (3, "a"), (4, "a")]
    with pytest.raises(InputError, match="a row with this primary key is already in the table"):
        run.sql("UPDATE t SET id = 1 WHERE id = 2")
    with pytest.raises(InputError, match="a row with this primary key is already in the table"):
        run.sql("INSERT INTO t (id) VALUES (1)")
    assert len(rows(run)) == 4


def test_rows_of_a_multiset_are_found_whatever_they_hold(run: Run) -> None:
    run.sql(
        "INSERT INTO bag VALUES ('a', -0.0, INTERVAL '14' MONTH, array(1, NULL)), ('a', double('NaN'), NULL, "
        "NULL), ('a', -0.0, INTERVAL '14' MONTH, array(1, NULL)), (NULL, 1, INTERVAL '1' YEAR, array())"
    )
    assert run.sql("UPDATE bag SET k = concat(k, 'b') WHERE x = 0 AND size(l) = 2").input_rows == 4
    assert {row["k"]: row["n"] for row in run.read("counts").to_pylist()} == {"a": 1, "ab": 2, None: 1}
    assert run.sql("DELETE FROM bag WHERE isnan(x) OR k IS NULL").input_rows == 2
    assert len(rows(run, "bag")) == 2


def test_what_was_pushed_before_is_seen(run: Run) -> None:
    run.upsert("t", [{"id": 1, "k": "a", "v": 100, "d": None}])
    report = run.sql("UPDATE t SET v = v + 1 WHERE id = 1")
    assert report.step == 3 and rows(run)[0][2] == 101


def test_tables_that_only_grow_take_inserts(run: Run) -> None:
    run.sql("INSERT INTO log SELECT v, k FROM t")
    run.sql("INSERT INTO stream VALUES (1), (2)")
    assert len(rows(run, "log")) == 4 and rows(run, "seen") == [(3,)]
    for statement in ("DELETE FROM log", "UPDATE stream SET a = 1"):
        with pytest.raises(InputError, match="append-only"):
            run.sql(statement)
    with pytest.raises(PipelineError, match="table stream does not keep its rows"):
        run.sql("INSERT INTO t (id) SELECT a + 10 FROM stream")


def test_what_cannot_be_done_is_explained_and_changes_nothing(run: Run) -> None:
    before, step = rows(run), run.status().step
    for statement, message in (
        ("INSERT INTO tt VALUES (1)", "there is no table tt; did you mean t?"),
        ("DELETE FROM totals", "totals is a view, which follows its tables"),
        ("DELETE FROM db.t", "a pipeline has one schema"),
        ("INSERT INTO t SELECT * FROM nosuch", "there is no table or view nosuch in this pipeline"),
        ("UPDATE t SET w = 1", "table t has no column w"),
        ("UPDATE t SET v = w", "UNRESOLVED_COLUMN"),
        ("UPDATE t SET v = 'x'", 'is of type "STRING" while it\'s required to be "INT"'),
        ("UPDATE t SET v = 3000000000", "CAST_OVERFLOW"),
        ("UPDATE t SET v = 1, V = 2", "assigned twice"),
        ("UPDATE t SET id = NULL WHERE id = 1", "column id: NULL in a key column"),
        ("INSERT INTO t VALUES (9, 'a')", "4 columns are to be filled, but the query gives 2"),
        ("INSERT INTO t (id, ID) VALUES (9, 9)", "named twice"),
        ("INSERT INTO t (idd) VALUES (9)", "table t has no column idd; did you mean id?"),
        ("INSERT INTO t BY NAME SELECT 1 AS id, 2 AS w", "table t has no column w"),
        ("INSERT INTO t (k) VALUES ('q')", "column id: NULL in a key column"),
        ("INSERT OVERWRITE t SELECT * FROM t", "DELETE rows first"),
        ("WITH c AS (SELECT 1 AS id) INSERT INTO t (id) SELECT id FROM c", "write WITH behind the table"),
        ("MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE", "use run.upsert()"),
        ("TRUNCATE TABLE t", "use DELETE FROM without a condition"),
        ("SELECT * FROM t", "views are read with run.view()"),
        ("DROP TABLE t", "declared with pipe.sql()"),
        ("DELETE FROM t; DELETE FROM t", "one statement at a time"),
        ("DELETE FRM t", "PARSE_SYNTAX_ERROR"),
        ("", "one statement at a time"),
    ):
        with pytest.raises(PenstockError, match=re.escape(message)):
            run.sql(statement)
    assert (rows(run), run.status().step) == (before, step)


def test_statements_and_queries_leave_the_users_session_alone(run: Run, spark: SparkSession) -> None:
    run.sql("DELETE FROM t WHERE id = 1")
    assert spark.catalog.listTables() == []
    assert SparkSession.getActiveSession() is spark


def test_tables_and_views_are_there_for_spark_sql_on_request(run: Run, spark: SparkSession) -> None:
    assert run.create_temp_views() == ("t", "bag", "log", "totals", "counts", "seen")
    try:
        assert spark.table("totals").where("k = 'a'").collect()[0].total == 3
        assert spark.sql("SELECT count(*) AS n FROM t JOIN totals USING (k)").collect()[0].n == 3
        run.sql("DELETE FROM t WHERE id = 2")
        assert spark.table("t").count() == 4, "of the step at which it was made"
        assert run.create_temp_views("T") == ("t",)
        assert spark.table("t").count() == 3
        with pytest.raises(PipelineError, match="did you mean totals"):
            run.create_temp_views("total")
    finally:
        for name in ("t", "bag", "log", "totals", "counts", "seen"):
            spark.catalog.dropTempView(name)


def test_an_error_of_sql_is_one_kind_of_error(run: Run) -> None:
    with pytest.raises(SqlError, match="DIVIDE_BY_ZERO"):
        run.sql("UPDATE t SET v = v / 0 WHERE id = 1")
