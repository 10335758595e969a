"""What a load leaves is merged when it is over: while no step comes, or when somebody waits for it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.run import Run
from penstock.storage import newest_version, open_backend
from penstock.trace.spine import BULK

SCRIPT = "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT); CREATE MATERIALIZED VIEW v AS SELECT * FROM t;"
CHUNK, CHUNKS = 2 * BULK + 4096, 4  # about half of a chunk is one worker's: more than a batch of a load needs


def load(run: Run) -> None:
    for start in range(0, CHUNK * CHUNKS, CHUNK):
        ids = np.arange(start, start + CHUNK)
        run.insert("t", pa.table({"id": ids, "n": ids}))
        run.step()


def batches(pipe: Pipeline, storage: Path) -> int:
    """How many batches the newest version has of the table."""
    version = newest_version(open_backend(str(storage)))
    assert version is not None
    circuit = pipe.program().circuit
    return len(version.arrangements[circuit.nodes[circuit.tables["t"]].slot(0)])


def test_a_commit_after_settling_has_one_batch_of_each_worker(spark: SparkSession, tmp_path: Path) -> None:
    pipe = Pipeline("settling", tmp_path, workers=2, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        load(run)
        run.settle()
        run.commit()
        assert run.verify()
        assert batches(pipe, tmp_path) == 2


def test_without_resident_workers_nothing_is_left_for_later(spark: SparkSession, tmp_path: Path) -> None:
    pipe = Pipeline("settling", tmp_path, workers=2, spark=spark, mode="staged")
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        load(run)
        before = batches(pipe, tmp_path)
        run.settle()
        assert batches(pipe, tmp_path) == before < 2 * CHUNKS
        assert run.verify()


def test_while_no_step_comes_a_load_is_merged(spark: SparkSession, tmp_path: Path) -> None:
    pipe = Pipeline("settling", tmp_path, workers=2, spark=spark, commit_interval_s=3600)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        load(run)
        run.commit()
        assert batches(pipe, tmp_path) > 2  # or this shows nothing
        deadline = time.monotonic() + 30
        while batches(pipe, tmp_path) > 2 and time.monotonic() < deadline:
            time.sleep(0.3)
            run.commit()
        assert batches(pipe, tmp_path) == 2
        assert run.verify()
