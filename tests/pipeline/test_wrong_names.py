"""Arguments and names that are wrong are answered with what would be right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import InUse, PenstockError, PipelineError, SqlError
from penstock.pipeline.pipeline import Pipeline

SCRIPT = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, v INT);
CREATE TABLE visits (id BIGINT);
CREATE VIEW plain AS SELECT id FROM orders;
CREATE MATERIALIZED VIEW rev AS SELECT sum(v) AS total FROM orders;
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "fast"}, "mode is 'resident' or 'staged', not 'fast'"),
        ({"workers": 0}, "workers is a number from 1 to 1024, not 0"),
        ({"workers": 1025}, "workers is a number from 1 to 1024"),
        ({"workers": "2"}, "workers is a number from 1 to 1024, not '2'"),
        ({"workers": True}, "workers is a number from 1 to 1024, not True"),
        ({"retained_steps": 0}, "retained_steps is at least 1"),
        ({"retained_steps": 1.5}, "retained_steps is at least 1"),
        ({"commit_interval_s": -1}, "commit_interval_s is a number of seconds"),
        ({"commit_interval_s": float("nan")}, "commit_interval_s is a number of seconds"),
        ({"commit_interval_s": None}, "commit_interval_s is a number of seconds"),
        ({"name": " "}, "the name of a pipeline"),
    ],
)
def test_wrong_arguments_are_one_kind_of_error(
    spark: SparkSession, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(PipelineError, match=re.escape(message)):
        Pipeline(**{"name": "p", "storage": tmp_path / "state", "spark": spark, **arguments})
    assert not (tmp_path / "state").exists()


@pytest.fixture(scope="module")
def pipe(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    pipe = Pipeline("shop", tmp_path_factory.mktemp("names") / "state", workers=1, mode="staged", spark=spark)
    pipe.sql(SCRIPT)
    return pipe


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "CREATE TABLE t (a INT) TBLPROPERTIES ('append_only' = 'true')",
            "a table has no property 'append_only'; did you mean appendOnly? "
            "There are: appendOnly, keepChanges, keepRows, static",
        ),
        (
            "CREATE TABLE t (a INT) TBLPROPERTIES ('appendOnly' = 'yes')",
            "'appendOnly' is 'true' or 'false', not 'yes'",
        ),
        (
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('keepRow' = 'false') AS SELECT 1 AS a",
            "a materialised view has no property 'keepRow'; did you mean keepRows?",
        ),
        (
            "CREATE VIEW v TBLPROPERTIES ('keepRows' = 'false') AS SELECT 1 AS a",
            "a view that is not stored has no",
        ),
        ("CREATE TABLE t (`` INT)", "table t: a column has an empty name"),
        ("CREATE VIEW v AS SELECT 1 AS ` `", "view v: a column has an empty name"),
        ("CREATE TABLE `` (a INT)", "the name is empty"),
        (
            "CREATE MATERIALIZED VIEW v AS\n SELECT * FROM ordres",
            "there is no table or view ordres in this pipeline; did you mean orders? "
            "There are: orders, visits, plain, rev (line 2 pos 15)",
        ),
        ("CREATE VIEW v AS SELECT * FROM db.orders", "no table or view db.orders in this pipeline"),
        (
            "CREATE VIEW v AS SELECT * FROM orders WHERE id IN (SELECT id FROM visit)",
            "no table or view visit in this pipeline; did you mean visits?",
        ),
    ],
)
def test_scripts_are_answered_with_what_there_is(pipe: Pipeline, script: str, message: str) -> None:
    with pytest.raises(SqlError, match=re.escape(message)) as caught:
        pipe.sql(script)
    assert "search path" not in str(caught.value).lower() and "SEARCH_PATH" not in str(caught.value)


def test_dataframe_functions_are_answered_alike(pipe: Pipeline) -> None:
    for function in (lambda tables: tables.ordres, lambda tables: tables.orders.sparkSession.table("ordres")):
        with pytest.raises(
            SqlError, match=r"no table or view ordres in this pipeline; did you mean orders\?"
        ):
            pipe.view("v", function)


def test_names_of_a_run_are_answered_with_what_they_are(pipe: Pipeline) -> None:
    with pipe.run() as run:
        for call, message in (
            (
                lambda: run.insert("rev", []),
                "rev is a view, which follows its tables; rows go into tables: orders",
            ),
            (lambda: run.insert("ordes", []), "there is no table ordes; did you mean orders?"),
            (lambda: run.read("revv"), "there is no table or view revv; did you mean rev?"),
            (lambda: run.verify("orders"), "orders is a table, not a view; the views are: rev"),
            (lambda: run.verify("rve"), "there is no view rve; did you mean rev?"),
        ):
            with pytest.raises(PenstockError, match=re.escape(message)):
                call()


def test_a_second_run_names_the_pipeline_who_runs_it_and_what_to_do(pipe: Pipeline) -> None:
    with pipe.run() as run:
        storage = run.status().storage
        other = Pipeline("shop", storage, workers=1, mode="staged", spark=pipe.spark)
        with pytest.raises(InUse) as caught:
            other.run()
    message = str(caught.value)
    assert f"the pipeline 'shop' in {storage} is being run by another run in this process" in message
    assert "Close that run" in message and "another storage" in message
    other.run().close()
