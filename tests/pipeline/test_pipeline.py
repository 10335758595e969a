"""Pipelines on Spark, as a user declares and runs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import DefinitionChanged, EvaluationError, PipelineError, StorageError
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
    other = first.clone(tmp_path / "other", workers=2, mode="resident")
    assert (other.name, other.workers, other.mode) == ("p", 2, "resident")
    other.sql("CREATE MATERIALIZED VIEW large AS SELECT * FROM totals WHERE total > 6")
    assert list(first.views) == ["totals"]
    with pytest.raises(DefinitionChanged, match=r"table t \(line 1\)"):
        other.sql("CREATE TABLE t (a INT)")
    with other.run() as run:
        run.insert("t", [{"id": 1, "k": "b", "v": 7}])
        run.step()
        assert run.read("large").to_pylist() == [{"k": "b", "total": 7}]
    with pytest.raises(PipelineError, match="not empty"):
        first.clone(tmp_path / "other")


def test_large_tables_reach_spark_as_files_and_verify_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.pipeline.contents._MANY_BYTES", 0)
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    columns = (
        "b BOOLEAN, i TINYINT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(30;4), s STRING, y BINARY, a DATE, "
        "t TIMESTAMP, u TIMESTAMP_NTZ, m INTERVAL YEAR TO MONTH, r ARRAY<STRUCT<x: INT; y: MAP<STRING; INT>>>"
    )
    names = [column.split()[0] for column in columns.split(", ")]
    pipe.sql(
        f"CREATE TABLE t (id BIGINT PRIMARY KEY, {columns.replace(';', ',')});"
        "CREATE TABLE w (id BIGINT PRIMARY KEY, e INTERVAL DAY TO SECOND);"
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM t;"
        "CREATE MATERIALIZED VIEW x AS SELECT * FROM w;"
    )
    row = {
        "id": 1, "b": True, "i": -7, "l": 1 << 60, "f": 0.5, "d": float("nan"), "n": Decimal("-1.5"),
        "s": "ü", "y": b"\x00", "a": date(1500, 1, 1), "t": datetime(1900, 1, 1, tzinfo=UTC),
        "u": datetime(2100, 1, 1), "m": 14, "r": [{"x": 1, "y": {"k": None}}, None],
    }  # fmt: skip
    with pipe.run() as run:
        run.insert("t", [row, {"id": 2} | dict.fromkeys(names)])
        run.insert("w", [{"id": 1, "e": timedelta(days=-1, microseconds=1)}])
        run.step()
        verification = run.verify()
        assert verification, str(verification)
        assert not list((tmp_path / "state").glob("verify-*"))


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


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "in the log only"])
def test_a_table_that_is_dropped_and_created_again_is_empty(
    spark: SparkSession, tmp_path: Path, committed: bool
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, spark=spark, commit_interval_s=1e9)
    kept = "CREATE TABLE other (id BIGINT PRIMARY KEY);"
    pipe.sql(SCRIPT + kept)
    run = pipe.run()
    run.insert("t", [{"id": 1, "k": "a", "v": 5}])
    run.insert("other", [{"id": 7}])
    run.step()
    if committed:
        run.close()
    else:
        run.kill()
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    pipe.sql("DROP MATERIALIZED VIEW totals; DROP TABLE t;" + SCRIPT)
    pipe.sql(SCRIPT + kept)  # declared again as it is: nothing changes
    with pipe.run() as again:
        assert again.read("t").num_rows == again.read("totals").num_rows == 0
        assert again.changes("totals").num_rows == 0
        assert again.read("other").to_pylist() == [{"id": 7}]
        again.insert("t", [{"id": 1, "k": "b", "v": 6}])
        again.step()
        assert again.read("totals").to_pylist() == [{"k": "b", "total": 6}]
    resumed = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    resumed.sql("DROP MATERIALIZED VIEW totals; DROP TABLE t; CREATE TABLE t (id STRING, k STRING);")
    resumed.sql("DROP TABLE t")
    resumed.run().close()
    resumed = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    resumed.sql(SCRIPT)
    assert resumed.tables["t"].incarnation == 3
    with resumed.run() as third:
        assert third.read("t").num_rows == 0


def test_a_view_that_is_dropped_and_created_otherwise_has_changes_of_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.insert("t", [{"id": 1, "k": "a", "v": 5}])
        run.step()
    pipe.sql(
        "DROP MATERIALIZED VIEW totals; CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS rows FROM t;"
    )
    with pipe.run() as run:
        run.insert("t", [{"id": 2, "k": "a", "v": 5}])
        run.step()
        assert [(row["rows"], row["_weight"]) for row in run.changes("totals").to_pylist()] == [
            (1, 1),
            (1, -1),
            (2, 1),
        ]


@pytest.mark.parametrize("mode", ["resident", "staged"])
@pytest.mark.parametrize("committed", [True, False], ids=["in a version", "in the log only"])
def test_a_view_that_fails_on_the_rows_that_are_there_is_refused_and_the_pipeline_opens_without_it(
    spark: SparkSession, tmp_path: Path, mode: Mode, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode=mode, spark=spark, commit_interval_s=1e9)
    pipe.sql(SCRIPT)
    run = pipe.run()
    run.insert("t", [{"id": 1, "k": "a", "v": 0}])
    if committed:
        run.step()
        run.close()
    else:
        monkeypatch.setattr(run._coordinator.store, "publish", _full)
        with suppress(PipelineError):  # a staged step ends with a commit
            run.step()
        run.kill()
    bad = "CREATE MATERIALIZED VIEW bad AS SELECT k, 10 DIV v AS q FROM t;"
    for again in (pipe, Pipeline("p", tmp_path / "state", workers=1, mode=mode, spark=spark)):
        again.sql("CREATE MATERIALIZED VIEW good AS SELECT id FROM t;" + bad)
        with pytest.raises(EvaluationError, match="nothing declared since the last run") as caught:
            again.run()
        assert (caught.value.condition, caught.value.view) == ("DIVIDE_BY_ZERO", "bad")
        assert "div" in caught.value.expression.lower()
        assert list(again.views) == ["totals"]
        with again.run() as run:
            assert run.status().step == 1
            assert run.read("totals").to_pylist() == [{"k": "a", "total": 0}]
    again.sql("CREATE MATERIALIZED VIEW good AS SELECT id FROM t")
    with again.run() as run:
        run.upsert("t", [{"id": 1, "k": "a", "v": 2}])
        run.step()
        assert run.read("good").to_pylist() == [{"id": 1}]
    again.sql(bad)
    with again.run() as run:
        assert run.read("bad").to_pylist() == [{"k": "a", "q": 5}]


def _full(body: object) -> None:
    raise StorageError("no space left on device")


def test_what_a_staged_step_writes_is_named_after_the_version_that_it_becomes(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    pipe.sql(SCRIPT)
    for number in range(3):
        with pipe.run() as run:
            before = run._coordinator.store.segments(run._coordinator.store.version)
            run.insert("t", [{"id": number, "k": "a", "v": 5}])
            run.step()
            written = run._coordinator.store.segments(run._coordinator.store.version) - before
            assert len(written) == 2  # batches, and the view's changes
            assert all(name.startswith(f"segments/{run.status().version:010d}-") for name in written)


def test_changes_that_are_not_kept_any_more_are_refused_by_the_oldest_step(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, spark=spark, retained_steps=3)
    pipe.sql("CREATE TABLE t (a INT); CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
    with pipe.run() as run:
        for step in range(1, 8):
            run.insert("t", [{"a": step}])
            run.step()
        assert sorted(run.changes("v")["a"].to_pylist()) == [5, 6, 7]
        assert sorted(run.changes("v", since=4)["a"].to_pylist()) == [5, 6, 7]
        assert run.changes("v", since=7).num_rows == 0
        with pytest.raises(PipelineError, match=r"after step 3 are not all kept.*the oldest step is 5"):
            run.changes("v", since=3)
        with pytest.raises(PipelineError, match="the last step is 7"):
            run.changes("v", since=8)
        with pytest.raises(PipelineError, match="0 or more, not -1"):
            run.changes("v", since=-1)
        with pytest.raises(PipelineError, match="the format of changes is 'weights' or 'change_feed'"):
            run.changes("v", format="feed")  # type: ignore[arg-type]
    wide = Pipeline("p", tmp_path / "state", workers=1, spark=spark, retained_steps=100)
    with wide.run() as run, pytest.raises(PipelineError, match="the oldest step is 5"):
        run.changes("v", since=3)  # what was let go stays gone
