"""Columns of type VOID, which hold nothing but NULL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.errors import InputError, SqlError

SCRIPT = """
CREATE TABLE t (id BIGINT PRIMARY KEY, nothing VOID);
CREATE MATERIALIZED VIEW a AS SELECT NULL AS x, id, nothing FROM t;
CREATE MATERIALIZED VIEW grouped AS
  SELECT x, nothing, count(*) AS n, count(x) AS c FROM a GROUP BY x, nothing;
CREATE MATERIALIZED VIEW nested AS
  SELECT id, array(NULL) AS y, array() AS e, struct(NULL AS z, id) AS s, map(id, NULL) AS m FROM t;
CREATE MATERIALIZED VIEW taken AS SELECT s.z, y[0] AS e, id FROM nested;
CREATE MATERIALIZED VIEW firsts AS SELECT x, id FROM a ORDER BY x, id LIMIT 1;
CREATE MATERIALIZED VIEW paired AS SELECT l.id, r.x FROM a l LEFT JOIN a r ON l.x <=> r.x AND l.id = r.id;
CREATE MATERIALIZED VIEW none AS SELECT l.id FROM a l JOIN a r ON l.x = r.x;
CREATE MATERIALIZED VIEW filled AS SELECT coalesce(x, id) AS c, x IS NULL AS n, x = 1 AS e FROM a;
CREATE MATERIALIZED VIEW windowed AS SELECT id, lag(x) OVER (ORDER BY id) AS w FROM a;
CREATE MATERIALIZED VIEW lists AS SELECT id, collect_list(x) AS l FROM a GROUP BY id;
CREATE MATERIALIZED VIEW together AS SELECT x FROM a UNION SELECT NULL;
CREATE MATERIALIZED VIEW alone AS SELECT NULL AS x;
"""


def test_views_with_void_equal_spark_and_are_opened_again(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        pipe = Pipeline("void", storage=tmp_path, spark=spark, workers=2)
        pipe.sql(SCRIPT)
        with pipe.run() as run:
            before = run.read("t").num_rows
            run.upsert("t", [{"id": i, "nothing": None} for i in range(before, before + 4)])
            run.step()
            run.delete("t", [before + 1])
            run.step()
            reports = run.verify()
            assert reports, [report for report in reports if not report]
            assert run.read("a").schema.field("x").type == pa.null()
            assert [row.y for row in run.view("nested").limit(1).collect()] == [[None]]
            assert run.changes("grouped", since=0).num_rows


def test_only_null_can_be_pushed(spark: SparkSession) -> None:
    pipe = Pipeline("void", storage="memory://", spark=spark, workers=1)
    pipe.sql("CREATE TABLE t (v VOID)")
    with pipe.run() as run, pytest.raises(InputError, match="table t, row 0, column v: 1 is an int"):
        run.insert("t", [{"v": 1}])


def test_a_map_without_a_type_of_keys_is_refused_with_advice(spark: SparkSession) -> None:
    pipe = Pipeline("void", storage="memory://", spark=spark, workers=1)
    with pytest.raises(SqlError, match=r"column m of view v: a map with keys of type VOID .*CAST\(map\(\)"):
        pipe.sql("CREATE MATERIALIZED VIEW v AS SELECT map() AS m")
