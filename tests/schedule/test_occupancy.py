"""Segments of which little is in use are left: a few rows that stay must not keep a file that is large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.run import Run
from penstock.schedule.occupancy import Occupancy
from penstock.storage import BatchRef
from penstock.trace import Batch, Held, Part, Stored

SCRIPT = """
CREATE TABLE few (id BIGINT PRIMARY KEY, n BIGINT);
CREATE TABLE many (id BIGINT PRIMARY KEY, n BIGINT);
CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS s FROM many;
"""
ROWS = 15_000  # few enough for a batch to share its segment with others


def _held(segment: str, stored: int) -> Held:
    none = np.empty(0, np.uint64)
    batch = Batch(none, none, None, np.empty(0, np.int64))
    return Held(batch, Stored((Part(BatchRef(segment, 0, 0, 0), stored),)))


def test_a_segment_is_sparse_when_less_than_a_quarter_is_in_use() -> None:
    occupancy = Occupancy()
    for name in ("a", "b", "c"):
        occupancy.note(name, 60)
        occupancy.note(name, 40)
    in_use = [_held("a", 24), _held("b", 15), _held("b", 10), _held("unknown", 1)]
    assert occupancy.sparse(in_use) == {"a"}  # nothing of c is in use: it is deleted anyway
    occupancy.stretch("b", 1.1)
    occupancy.stretch("c", 1.1)
    assert occupancy.sparse(in_use) == {"a", "b"}


def _fill(run: Run, table: str, rows: int, n: int) -> None:
    run.upsert(table, pa.table({"id": np.arange(rows), "n": np.full(rows, n)}))
    run.step()


def _segments(storage: Path) -> set[str]:
    return {path.name for path in (storage / "segments").iterdir()}


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_rows_that_stay_do_not_keep_the_file_of_those_that_went(
    spark: SparkSession, tmp_path: Path, reopened: bool, workers: int
) -> None:
    pipe = Pipeline("sparse", tmp_path, spark=spark, workers=workers, commit_interval_s=3600)
    pipe.sql(SCRIPT)
    run = pipe.run()
    _fill(run, "few", 20, 1)
    _fill(run, "many", ROWS, 1)
    run.commit()
    first = {name for name in _segments(tmp_path) if (tmp_path / "segments" / name).stat().st_size > ROWS}
    assert len(first) == workers
    for n in (2, 3, 4, 5):  # rows replaced: what was first written of many is merged away
        _fill(run, "many", ROWS, n)
        run.settle()
        run.commit()
        if reopened and n == 3:
            run.close()
            run = pipe.run()
    assert not first & _segments(tmp_path)
    assert run.read("few").num_rows == 20 and run.verify()
    assert [row["s"] for row in run.read("v").to_pylist()] == [5 * ROWS]
    run.kill()
    with pipe.run() as again:
        assert again.read("few").num_rows == 20 and again.verify()
        assert len(again.changes("v")) == 11  # no sum, then five times one row for another
