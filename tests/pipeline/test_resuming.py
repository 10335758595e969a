"""A program that is started again simply goes on, in whatever order it declares things."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.cli.state import version_in
from penstock.errors import DefinitionChanged, PipelineError
from penstock.pipeline.pipeline import Pipeline
from penstock.sql import Tables

TABLES = """
CREATE TABLE t (id BIGINT PRIMARY KEY, v INT);
CREATE MATERIALIZED VIEW n AS SELECT count(*) AS c FROM t;
"""
READER = "CREATE MATERIALIZED VIEW reader AS SELECT count(*) AS c FROM large;"
CALLS = "CREATE MATERIALIZED VIEW calls AS SELECT id, twice(v) AS w FROM t;"


def large(tables: Tables) -> DataFrame:
    return tables.t.where("v > 5")


def other(tables: Tables) -> DataFrame:
    return tables.t.where("v > 6")


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Path:
    """A pipeline with one view of each kind, and a row."""
    pipe = opened(spark, tmp_path)
    pipe.sql(TABLES)
    pipe.view("large", large)
    pipe.function("twice", lambda v: 2 * v, returns="INT")
    pipe.sql(READER + CALLS)
    with pipe.run() as run:
        run.insert("t", [{"id": 1, "v": 6}])
        run.step()
    return tmp_path


def opened(spark: SparkSession, folder: Path) -> Pipeline:
    return Pipeline("p", folder / "state", workers=1, mode="staged", spark=spark)


@pytest.mark.parametrize("order", ["svf", "vsf", "fvs", "fsv"])
def test_declarations_come_in_any_order(spark: SparkSession, folder: Path, order: str) -> None:
    pipe = opened(spark, folder)
    for what in order:
        if what == "s":
            pipe.sql(TABLES + READER + CALLS)
        elif what == "v":
            pipe.view("large", large)
        else:
            pipe.function("twice", lambda v: 2 * v, returns="INT")
    before = version_in(folder / "state").number
    with pipe.run() as run:
        version = run.status().version
        assert run.read("large").to_pylist() == [{"id": 1, "v": 6}]
        run.insert("t", [{"id": 2, "v": 7}])
        run.step()
        assert run.read("reader").to_pylist() == [{"c": 2}]
        assert sorted(run.read("calls")["w"].to_pylist()) == [12, 14]
        assert run.changes("large")["_step"].to_pylist() == [1, 2]  # its history goes on as well
        assert run.verify() and not run.verify().unchecked
    assert version == before, "nothing was filled anew"


def test_a_view_that_the_program_does_not_mention_is_suspended_and_filled_later(
    spark: SparkSession, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipe = opened(spark, folder)
    pipe.sql(TABLES)
    with caplog.at_level(logging.WARNING), pipe.run() as run:
        run.insert("t", [{"id": 2, "v": 7}])
        run.step()
        with pytest.raises(PipelineError, match="view large is suspended in this run"):
            run.read("large")
        assert run.verify().unchecked == ("large", "reader", "calls")
    assert "pipe.view('large', …)" in caplog.text and "pipe.function('twice', …)" in caplog.text
    pipe.view("large", large)
    pipe.function("twice", lambda v: 2 * v, returns="INT")
    with pipe.run() as run:
        assert run.read("large").num_rows == run.read("calls").num_rows == 2
        assert run.read("reader").to_pylist() == [{"c": 2}]
        assert run.verify()


def test_a_look_at_a_pipeline_without_its_functions_costs_its_views_nothing(
    spark: SparkSession, folder: Path
) -> None:
    opened(spark, folder).run().close()
    pipe = opened(spark, folder)
    pipe.view("large", large)
    with pipe.run() as run:
        assert run.changes("large")["_step"].to_pylist() == [1]


def test_a_view_that_the_program_asks_for_is_not_suspended(spark: SparkSession, folder: Path) -> None:
    pipe = opened(spark, folder)
    pipe.view("large", large)
    pipe.sql(TABLES + CALLS)
    with pytest.raises(
        PipelineError, match=r"view calls calls Python .*pipe.function\('twice', …\), before run"
    ):
        pipe.run()
    pipe.function("twice", lambda v: 2 * v, returns="INT")
    pipe.run().close()


def test_a_pending_view_can_be_dropped_and_what_it_reads_cannot(spark: SparkSession, folder: Path) -> None:
    pipe = opened(spark, folder)
    with pytest.raises(Exception, match="cannot be dropped: used by n, large, calls"):
        pipe.sql("DROP TABLE t")
    pipe.sql("DROP MATERIALIZED VIEW reader; DROP MATERIALIZED VIEW large; DROP MATERIALIZED VIEW calls;")
    pipe.run().close()
    assert list(opened(spark, folder).catalog.pending) == []


def test_a_view_over_rows_that_are_gone_is_not_suspended(spark: SparkSession, tmp_path: Path) -> None:
    script = "CREATE TABLE s (v INT) TBLPROPERTIES ('appendOnly' = 'true', 'keepRows' = 'false');"
    pipe = opened(spark, tmp_path)
    pipe.sql(script)
    pipe.view("sums", lambda tables: tables.s.groupBy().sum("v").toDF("v"))
    pipe.run().close()
    again = opened(spark, tmp_path)
    again.sql(script)
    with pytest.raises(PipelineError, match=r"because s does not keep its rows.*DROP MATERIALIZED VIEW sums"):
        again.run()


def test_an_edited_function_is_refused_or_replaces_the_view_and_its_readers(
    spark: SparkSession, folder: Path
) -> None:
    pipe = opened(spark, folder)
    pipe.sql(TABLES + READER + CALLS)
    with pytest.raises(DefinitionChanged, match=r"replace=True"):
        pipe.view("large", other)
    pipe.view("large", other, replace=True)
    pipe.function("twice", lambda v: 2 * v, returns="INT")
    with pipe.run() as run:
        assert run.read("large").num_rows == 0
        assert run.read("reader").to_pylist() == [{"c": 0}]
        assert run.verify()
    with pytest.raises(DefinitionChanged):
        pipe.view("large", large)


def test_an_edited_script_replaces_what_changed_and_keeps_the_rest(spark: SparkSession, folder: Path) -> None:
    pipe = opened(spark, folder)
    pipe.view("large", large)
    pipe.function("twice", lambda v: 2 * v, returns="INT")
    edited = TABLES + READER + CALLS.replace("twice(v)", "twice(v) + 1")
    with pytest.raises(DefinitionChanged, match="view calls"):
        pipe.sql(edited)
    assert pipe.sql(edited, replace=True) == ("calls",)
    with pipe.run() as run:
        assert run.read("calls").to_pylist() == [{"id": 1, "w": 13}]
        assert run.changes("n")["_step"].to_pylist() == [0, 1, 1]  # not filled anew
        assert run.verify()
    assert pipe.sql(edited, replace=True) == ()
