"""Columns of type TIME in tables, input of every kind, storage, and output."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.errors import InputError, UnsupportedQuery

SCRIPT = """
    CREATE TABLE t (at TIME(3), who STRING, till TIME, exact TIME(9), PRIMARY KEY (at));
    CREATE MATERIALIZED VIEW v AS
      SELECT who, min(at) AS first, max(till) AS last, count(*) AS n FROM t GROUP BY who;
    CREATE MATERIALIZED VIEW w AS
      SELECT at, till - at AS open, CAST(exact AS STRING) AS text FROM t WHERE till > TIME'02:00';
"""
EIGHT, NINE = datetime.time(8, 0, 0, 250_000), datetime.time(9, 30)


@pytest.fixture
def pipe(spark: SparkSession, tmp_path: Path) -> Pipeline:
    pipe = Pipeline("times", tmp_path / "state", workers=2, spark=spark)
    pipe.sql(SCRIPT)
    return pipe


def test_rows_come_in_every_way_and_are_there_after_a_restart(
    spark: SparkSession, pipe: Pipeline, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("at,who,till,exact\n10:00,ada,11:00:00.5,0:0:0.000000001\n10:01,,,\n")
    (tmp_path / "a.jsonl").write_text(
        '{"at": "12:00:00.125", "who": "ada", "till": "1:05 PM", "exact": null}\n'
    )
    frame = pd.DataFrame(
        {"at": [datetime.time(14)], "who": ["bob"], "till": [datetime.time(15)], "exact": [None]}
    )
    arrow = pa.table(
        {
            "at": pa.array([datetime.time(16)], pa.time32("ms")),
            "who": ["bob"],
            "till": pa.array([datetime.time(17)]),
            "exact": pa.array([61_000_000_001], pa.time64("ns")),
        }
    )
    moved = arrow.set_column(0, "at", pa.array([datetime.time(17, 1)], pa.time32("ms")))
    pq.write_table(moved, tmp_path / "a.parquet")
    with pipe.run() as run:
        run.insert("t", [{"at": EIGHT, "who": "ada", "till": NINE, "exact": NINE}])
        run.load("t", tmp_path / "a.csv")
        run.load("t", tmp_path / "a.jsonl")
        run.insert("t", frame)
        run.step()
        run.load("t", tmp_path / "a.parquet")
        run.step()
        run.insert("t", arrow)
        run.sql("INSERT INTO t VALUES (CAST('18:00' AS TIME(3)), 'eve', TIME'19:00', NULL)")
        run.sql("UPDATE t SET till = TIME'20:00' WHERE at = TIME'18:00'")
        run.delete("t", [EIGHT])
        run.step()
        assert run.verify()
        rows = run.read("v").to_pylist()
        assert {"who": "bob", "first": datetime.time(14), "last": datetime.time(17), "n": 3} in rows
        assert {"who": "ada", "first": datetime.time(10), "last": datetime.time(13, 5), "n": 2} in rows
        texts = {row["at"]: row["text"] for row in run.read("w").to_pylist()}
        assert texts[datetime.time(10)] == "00:00:00.000000001"
        assert run.view("v").where("who = 'eve'").collect()[0]["last"] == datetime.time(20)
        assert run.read("v").schema.field("first").type == pa.time64("ns")
        before = run.read("w").sort_by("at")
    again = Pipeline("times", tmp_path / "state", workers=1, mode="staged", spark=spark)
    again.sql(SCRIPT)
    with again.run() as run:
        run.upsert("t", [{"at": datetime.time(10), "who": "zoe", "till": datetime.time(11), "exact": None}])
        run.step()
        assert run.read("w").num_rows == before.num_rows
        assert run.verify()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"at": datetime.time(1, 2, 3, 1)}, r"01:02:03.000001 has too many digits for TIME\(3\)"),
        ({"at": "01:02:03"}, "give a datetime.time"),
        ({"at": datetime.time(1, tzinfo=datetime.UTC)}, "time zone"),
        ({"at": 5}, "is an int"),
        ({"at": None}, "NULL in a key column"),
    ],
)
def test_what_is_no_such_time_is_refused(pipe: Pipeline, row: dict[str, object], reason: str) -> None:
    with pipe.run() as run, pytest.raises(InputError, match=reason):
        run.insert("t", [{"who": "x", "till": None, "exact": None, **row}])


def test_a_text_in_a_file_that_is_no_time_is_refused_with_its_place(pipe: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("at,who,till,exact\n10:00,ada,,\n25:00,ada,,\n")
    with pipe.run() as run, pytest.raises(InputError, match=r"'25:00' does not fit TIME\(3\).*line 3"):
        run.load("t", tmp_path / "a.csv")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT CAST(at AS TIMESTAMP) AS x FROM t",
        "SELECT at::timestamp_ntz AS x FROM t",
        "SELECT current_time() AS x FROM t",
    ],
)
def test_what_depends_on_the_day_is_refused(pipe: Pipeline, query: str) -> None:
    with pytest.raises(UnsupportedQuery, match="its value changes although no input does"):
        pipe.sql(f"CREATE MATERIALIZED VIEW x AS {query}")


def test_a_python_function_takes_no_time(pipe: Pipeline, spark: SparkSession) -> None:
    from pyspark.sql.functions import udf

    same = udf(lambda t: str(t), "string")
    with pytest.raises(UnsupportedQuery, match="Spark cannot hand it to Python"):
        pipe.view("x", lambda tables: tables.t.select(same("at").alias("x")))
