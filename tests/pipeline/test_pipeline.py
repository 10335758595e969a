"""Pipelines on Spark, as a user declares and runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PipelineError, SqlError
from penstock.pipeline.pipeline import Pipeline

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
