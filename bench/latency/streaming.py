"""Structured Streaming doing the small view: how long is a trigger?"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from penstock.oracle import Query

__all__ = ["trigger_times"]

ROWS = 100
TRIGGERS = 60
WARM_UP = 10


def trigger_times(
    spark: SparkSession, view: Query, lines: pa.RecordBatch, rounds: int
) -> NDArray[np.float64]:
    """Milliseconds of every trigger but the first ones: each takes one file of 100 rows, its output is thrown
    away, its checkpoint is kept. At most 60, because triggers are slow and alike."""
    warm_up, timed = min(WARM_UP, rounds), min(TRIGGERS, rounds)
    with tempfile.TemporaryDirectory(prefix="penstock-latency-") as name:
        folder = Path(name)
        (folder / "lines").mkdir()
        for number in range(warm_up + timed):
            path = folder / "lines" / f"{number:04d}.parquet"
            part = lines.slice(number * ROWS % max(1, lines.num_rows - ROWS), ROWS)
            pq.write_table(pa.Table.from_batches([part]), path)
            os.utime(path, (1e9 + number, 1e9 + number))  # files are taken in the order of their times
        schema = spark.read.parquet(str(folder / "lines")).schema
        stream = (
            spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "lines"))
        )
        stream.createOrReplaceTempView("lineitem")
        query = (
            spark.sql(view.sql)
            .writeStream.format("noop")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
            recent = query.recentProgress
        finally:
            query.stop()
            spark.catalog.dropTempView("lineitem")
    times = [told["durationMs"]["triggerExecution"] for told in recent if told["numInputRows"]]
    return np.array(times[-timed:], dtype=np.float64)
