"""Pipelines on Spark, as a user declares and runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PipelineError, SqlError
from penstock.oracle import check, table
from penstock.pipeline.pipeline import Mode, Pipeline
from penstock.sql.session import active_session_kept

SCRIPT = """
CREATE TABLE t (id BIGINT PRIMARY KEY, k STRING, v INT);
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(v) AS total FROM t GROUP BY k;
"""


def test_a_pipeline_anew_has_the_tables_and_views_but_not_the_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = Pipeline("p", tmp_path / "first", workers=1, mode="staged", spark=spark)
    first.sql(SCRIPT)
    with first.run() as run:
        run.insert("t", [{"id": 1, "k": "a", "v": 5}])
        run.step()
    other = first.anew(tmp_path / "other", workers=2, mode="resident")
    assert (other.name, other.workers, other.mode) == ("p", 2, "resident")
    other.sql("CREATE MATERIALIZED VIEW large AS SELECT * FROM totals WHERE total > 6")
    assert list(first.views) == ["totals"]
    with pytest.raises(SqlError, match="already a table named t"):
        other.sql("CREATE TABLE t (a INT)")
    with other.run() as run:
        run.insert("t", [{"id": 1, "k": "b", "v": 7}])
        run.step()
        assert run.read("large").to_pylist() == [{"k": "b", "total": 7}]
    with pytest.raises(PipelineError, match="not empty"):
        first.anew(tmp_path / "other")


def test_the_sign_of_zero_does_not_show_which_row_came_first(spark: SparkSession, tmp_path: Path) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    pipe.sql(
        """
        CREATE TABLE t (x DOUBLE, l ARRAY<FLOAT>);
        CREATE MATERIALIZED VIEW texts AS
          SELECT CAST(x AS STRING) AS x, CAST(l[0] AS STRING) AS l, count(*) AS c FROM t GROUP BY ALL;
        CREATE MATERIALIZED VIEW lists AS SELECT l, count(*) AS c FROM t GROUP BY l;
        """
    )
    with pipe.run() as run:
        run.insert("t", [{"x": -0.0, "l": [-0.0]}, {"x": 0.0, "l": [0.0]}])
        run.step()
        assert run.read("texts").to_pylist() == [{"x": "0.0", "l": "0.0", "c": 2}]
        run.delete("t", [{"x": -0.0, "l": [0.0]}])
        run.step()
        assert str(run.read("lists").to_pylist()) == "[{'l': [0.0], 'c': 1}]"
        assert str(run.read("t").to_pylist()) == "[{'x': 0.0, 'l': [0.0]}]"


@pytest.mark.parametrize("mode", ["resident", "staged"])
def test_a_pipeline_leaves_the_users_session_active(
    spark: SparkSession, tmp_path: Path, mode: Mode, clean_active_session: None
) -> None:
    theirs = spark.newSession()
    theirs.createDataFrame([(1,)], "a INT")  # this makes it Spark's active session
    assert SparkSession.getActiveSession() is theirs
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode=mode, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.insert("t", [{"id": 1, "k": "a", "v": 5}])
        run.step()
        run.view("totals").collect()
        assert run.verify()
        assert SparkSession.getActiveSession() is theirs
    assert check(spark, [table("u", "a INT")], {"q": "SELECT a FROM u"}, 1).comparisons == 1
    assert SparkSession.getActiveSession() is theirs


@pytest.fixture
def clean_active_session(spark: SparkSession) -> Iterator[None]:
    with active_session_kept(spark):
        yield
