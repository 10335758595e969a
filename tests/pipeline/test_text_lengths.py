"""CHAR(n) and VARCHAR(n) through a pipeline: push, read, verify, load a file, open again."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.errors import InputError
from penstock.sql import Catalog, PlanningSession, apply_script, catalog_from_json, catalog_to_json

SCRIPT = """
CREATE TABLE t (k CHAR(5) PRIMARY KEY, v VARCHAR(3));
CREATE MATERIALIZED VIEW w AS SELECT k, length(k) AS l, k = 'hi   ' AS e, concat(k, '|') AS c, v FROM t;
CREATE MATERIALIZED VIEW over_w AS SELECT k FROM w WHERE k = 'hi';
"""


def test_a_char_is_padded_compared_and_verified(spark: SparkSession, tmp_path: Path) -> None:
    pipe = Pipeline("sized", storage=tmp_path, spark=spark, workers=1)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.upsert("t", [{"k": "hi", "v": "abc "}, {"k": "yo  ", "v": None}])
        run.step()
        run.delete("t", ["yo"])
        run.upsert("t", [{"k": "hi ", "v": "x"}])
        run.step()
        assert run.read("w").to_pylist() == [{"k": "hi   ", "l": 5, "e": True, "c": "hi   |", "v": "x"}]
        assert run.read("over_w").to_pylist() == [{"k": "hi   "}]
        assert run.verify()
        # Read by Spark, a column is compared as Spark compares its own CHAR columns.
        assert run.view("t").where("k = 'hi'").count() == run.view("w").where("k = 'hi'").count() == 1
        with pytest.raises(InputError, match=r"table t, row 0, column v: 'abcd' has 4 characters"):
            run.upsert("t", [{"k": "a", "v": "abcd"}])
        pq.write_table(pa.table({"k": ["f", "hi"], "v": ["12 ", "123  "]}), tmp_path / "rows.parquet")
        run.load("t", tmp_path / "rows.parquet")
        run.step()
        assert sorted(run.read("t").to_pylist(), key=str) == [
            {"k": "f    ", "v": "12 "},
            {"k": "hi   ", "v": "123"},
        ]
    again = Pipeline("sized", storage=tmp_path, spark=spark, workers=1)
    again.sql(SCRIPT)
    with again.run() as run:
        assert run.read("over_w").num_rows == 1 and run.verify()


def old_form(body: dict[str, Any]) -> dict[str, Any]:
    """A catalogue as versions stored it that had no lengths."""
    text = json.dumps(body).replace('"char(5)"', '"string"').replace('"varchar(3)"', '"string"')
    old: dict[str, Any] = json.loads(text)
    for item in old["relations"]:
        item.pop("keeps_lengths", None)
    old["settings"] = {k: v for k, v in old["settings"].items() if "har" not in k.rpartition(".")[2]}
    return old


def test_tables_of_an_older_version_stay_as_they_are(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    script = (
        "CREATE TABLE t (k CHAR(5) PRIMARY KEY, v VARCHAR(3)); CREATE MATERIALIZED VIEW w AS SELECT v FROM t"
    )
    planning = PlanningSession(spark)
    old = old_form(catalog_to_json(apply_script(planning, Catalog(), script), planning.settings))
    assert "spark.sql.readSideCharPadding" not in old["settings"]
    planning = PlanningSession(spark, old["settings"])
    opened = catalog_from_json(planning, old)
    assert [f.dataType.simpleString() for f in opened.tables["t"].schema.fields] == ["string", "string"]
    with caplog.at_level(logging.WARNING):
        assert apply_script(planning, opened, script, allow_same=True) == opened
    assert "table t was made by a version that kept CHAR(n)" in caplog.text
