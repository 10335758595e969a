"""What comes in for CHAR(n) and VARCHAR(n) is what Spark writes into a table of these types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import InputError
from penstock.pipeline.ingest import to_batch, to_keys
from penstock.pipeline.tables import TableSchema

COLUMNS = """c CHAR(3), v VARCHAR(3), a ARRAY<CHAR(2)>, s STRUCT<x: VARCHAR(2), y: CHAR(2)>,
  m MAP<CHAR(2), VARCHAR(2)>"""
BLANK: dict[str, Any] = {"c": None, "v": None, "a": None, "s": None, "m": None}
TEXTS = [
    "",
    " ",
    "ab",
    "abc",
    "abc  ",
    "a    ",
    "     ",
    "äöü",
    "äöü ",
    "日",
    "😀😀😀   ",
    "a b  ",
    "ab\t",
    None,
]


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A table of Spark's own, whose write path decides."""
    folder = tmp_path_factory.mktemp("sized_text")
    spark.sql(f"CREATE TABLE sized_text ({COLUMNS}) USING parquet LOCATION '{folder}'")
    yield spark
    spark.sql("DROP TABLE sized_text")


def table(spark: SparkSession, key: tuple[str, ...] = ()) -> TableSchema:
    schema = StructType.fromDDL(COLUMNS)
    assert isinstance(schema, StructType)
    return TableSchema("t", schema, key)


def insert(spark: SparkSession, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plain = "c STRING, v STRING, a ARRAY<STRING>, s STRUCT<x: STRING, y: STRING>, m MAP<STRING, STRING>"
    spark.createDataFrame(rows, plain).coalesce(1).write.insertInto("sized_text", overwrite=True)
    return [row.asDict(recursive=True) for row in spark.table("sized_text").coalesce(1).collect()]


def test_what_fits_is_cut_and_padded_as_spark_writes_it(written: SparkSession) -> None:
    rows = [
        {
            "c": text,
            "v": text,
            "a": None if text is None else [text[:2], text[:1], None],
            "s": {"x": (text or "")[:2], "y": (text or "")[:1]},
            "m": {(text or "")[:1]: text if text is None else text[:2]},
        }
        for text in TEXTS
    ]
    batch = to_batch(table(written), rows)
    ours = [{**row, "m": dict(row["m"])} for row in batch.to_pylist()]
    assert ours == insert(written, rows)
    again = to_batch(table(written), pa.table(batch).slice(2))  # Arrow data, and a part of it
    assert again.to_pylist() == batch.to_pylist()[2:]


TOO_LONG = {
    "c": ("abcd", "'abcd' has 4 characters, which is too long for CHAR(3)"),
    "v": ("a  d ", "'a  d ' has 4 characters, which is too long for VARCHAR(3)"),
    "a": (["x", "abc"], "'abc' has 3 characters, which is too long for CHAR(2)"),
    "s": ({"x": "äöü", "y": ""}, "'äöü' has 3 characters, which is too long for VARCHAR(2)"),
    "m": ({"a": "b", "abc": "b"}, "'abc' has 3 characters, which is too long for CHAR(2)"),
}


@pytest.mark.parametrize("column", TOO_LONG)
def test_what_is_too_long_is_refused_with_row_and_column(written: SparkSession, column: str) -> None:
    value, reason = TOO_LONG[column]
    row = {**BLANK, column: value}
    with pytest.raises(PySparkException) as theirs:
        insert(written, [row])
    assert theirs.value.getCondition() == "EXCEED_LIMIT_LENGTH"
    with pytest.raises(InputError) as ours:
        to_batch(table(written), [BLANK, row])
    assert (ours.value.table, ours.value.row) == ("t", 1)
    assert str(ours.value.column).split(".")[0] == column
    assert reason in str(ours.value)


def test_keys_of_a_map_that_become_equal_are_refused(written: SparkSession) -> None:
    row = {**BLANK, "m": {"a": "x", "a ": "y"}}
    with pytest.raises(PySparkException) as theirs:
        insert(written, [row])
    assert theirs.value.getCondition() == "DUPLICATED_MAP_KEY"
    with pytest.raises(InputError, match=r"row 1.*m\.key.*'a ' is in the map twice, as CHAR\(2\)"):
        to_batch(table(written), [BLANK, row])


def test_keys_to_delete_are_padded_too(spark: SparkSession) -> None:
    keys = to_keys(table(spark, ("c",)), ["a", "b    "])
    assert keys.to_pylist() == [{"c": "a  "}, {"c": "b  "}]
