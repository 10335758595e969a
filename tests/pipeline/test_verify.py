"""What ``verify`` takes for equal: every bit, but in sums of doubles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.pipeline.contents import arrow_of
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.verify import difference_of

SCRIPT = """
CREATE TABLE t (id BIGINT PRIMARY KEY, k STRING, x DOUBLE);
CREATE MATERIALIZED VIEW plain AS SELECT id, exp(x) AS e FROM t;
CREATE MATERIALIZED VIEW sums AS SELECT k, sum(x) AS s, max(x) AS m FROM t GROUP BY k;
"""


def one_unit_more(table: pa.Table, column: str) -> pa.Table:
    numbers = np.nextafter(np.asarray(table.column(column)), np.inf)
    return table.set_column(table.schema.names.index(column), column, pa.array(numbers))


@pytest.mark.parametrize(
    ("view", "column", "equal"), [("plain", "e", False), ("sums", "s", True), ("sums", "m", False)]
)
def test_a_last_bit_counts_unless_doubles_were_summed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str, column: str, equal: bool
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.insert("t", [{"id": i, "k": "ab"[i % 2], "x": i / 7} for i in range(20)])
        run.step()
        assert run.verify()

        def nudged(frame: DataFrame) -> pa.Table:
            return one_unit_more(arrow_of(frame), column)

        monkeypatch.setattr("penstock.pipeline.verify.arrow_of", nudged)
        assert bool(run.verify(view)) is equal


def test_columns_of_one_name_are_told_apart_by_place() -> None:
    ours = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "s"])
    theirs = ours.rename_columns(["a", "b"])
    assert difference_of(ours, theirs) == ""
    assert difference_of(ours, one_unit_more(ours, "s"), ["s"]) == ""
    assert difference_of(ours, one_unit_more(ours, "x"), ["s"]) != ""
