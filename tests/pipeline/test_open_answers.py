"""A view whose query leaves its answer open says so when it is explained and when it is compared."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from penstock.pipeline.pipeline import Pipeline

SCRIPT = """
CREATE TABLE t (k INT, x INT);
CREATE MATERIALIZED VIEW lists AS SELECT k, collect_list(x) AS a FROM t GROUP BY k;
CREATE MATERIALIZED VIEW firsts AS SELECT k, slice(a, 1, 20) AS f FROM lists;
CREATE MATERIALIZED VIEW sums AS SELECT k, sum(x) AS s FROM t GROUP BY k;
"""


def test_an_open_answer_is_stated_whatever_the_steps_and_explained(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipe = Pipeline("p", tmp_path / "p", workers=2, mode="staged", spark=spark)
    pipe.sql(SCRIPT)
    assert "note: collect_list(x) (view lists, line 3)" in pipe.explain("lists")
    assert "note:" not in pipe.explain("sums")
    with pipe.run() as run:
        for rows in (range(60, 40, -1), range(10, 40), range(40, 5, -1)):
            run.insert("t", [{"k": 1, "x": x} for x in rows])
            run.step()
        run.delete("t", [{"k": 1, "x": 6}])
        run.step()
        assert run.read("lists").to_pylist() == [
            {"k": 1, "a": [7, 8, 9, *(x for x in range(10, 40) for _ in range(2)), *range(40, 61)]}
        ]
        reports = {report.view: report for report in run.verify()}
        assert reports["sums"].equal
        # Spark takes the rows as they lie in the table, which is not in the order of their values.
        assert not reports["lists"].equal
        assert reports["lists"].left_open == reports["firsts"].left_open == ("collect_list(x)",)
        assert run.verify()
