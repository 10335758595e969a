"""How many rows per second, compared with Structured Streaming?

Steps of 400,000 rows of a grouped sum and count over 100,000 groups, from the same Parquet files in the
same run. Neither side keeps the rows. Structured Streaming runs in update mode with a checkpoint, its state
in memory, its output thrown away; it takes one file per trigger. Both sides' first batches (warm-up) are left
out, and the final answers are compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from bench.report import Result, spread
from bench.sketch import Bar, Bars, Mark

ROWS = 400_000
GROUPS = 100_000
FILES = 36
WARM_UP = 12
GOAL = 8.0
MINUTES = 1.0
WHAT = f"Steps of {ROWS:,} rows, grouped sum and count over {GROUPS:,} groups, from Parquet"

SCRIPT = """
CREATE TABLE events (k BIGINT, amount BIGINT) TBLPROPERTIES ('appendOnly' = 'true', 'keepRows' = 'false');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(amount) AS total, count(*) AS n FROM events GROUP BY k;
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line: none, so that figures can be compared."""


def run(_: argparse.Namespace) -> Result:
    """Penstock first, then Structured Streaming, over the same files."""
    with tempfile.TemporaryDirectory(prefix="penstock-throughput-") as name:
        folder = Path(name)
        files = _write_files(folder / "events")
        pipe = ps.Pipeline("throughput", storage=folder / "state")
        ours, answer = _penstock(pipe, files)
        theirs, expected = _structured_streaming(pipe.spark, folder)
    if answer != expected:
        raise SystemExit(f"the answers differ: {answer} against {expected}")
    rows = [
        {
            "system": system,
            "rows/s": int(ROWS / np.median(times)),
            "step ms (median)": float(np.median(times) * 1e3),
            "p10": float(np.percentile(times, 10) * 1e3),
            "p90": float(np.percentile(times, 90) * 1e3),
        }
        for system, times in (("Penstock", ours), ("Structured Streaming", theirs))
    ]
    return Result(
        "throughput",
        WHAT,
        float(np.median(theirs) / np.median(ours)),
        GOAL,
        "x",
        rows,
        at_least=True,
        spread=spread(np.median(theirs) / ours),
        sketch=sketch(rows),
    )


def sketch(rows: Sequence[Mapping[str, Any]]) -> Bars:
    """The picture: rows per second, and the goal as a multiple of Structured Streaming's."""
    goal = GOAL * rows[-1]["rows/s"]
    bars = [Bar(row["system"], row["rows/s"], row["rows/s"] >= goal) for row in rows[:-1]]
    bars.append(Bar(rows[-1]["system"], rows[-1]["rows/s"]))
    mark = Mark(goal, f"goal: {GOAL:g} times Structured Streaming")
    return Bars(WHAT, "rows per second", bars, [mark])


def _write_files(folder: Path) -> list[Path]:
    folder.mkdir()
    rng = np.random.default_rng(1)
    paths = []
    for number in range(FILES):
        rows = {"k": rng.integers(0, GROUPS, ROWS), "amount": rng.integers(0, 1000, ROWS)}
        path = folder / f"{number:03d}.parquet"
        pq.write_table(pa.table(rows), path, row_group_size=ROWS // 4)
        paths.append(path)
        time.sleep(0.01)  # Structured Streaming takes files in the order of their times
    return paths


def _penstock(pipe: ps.Pipeline, files: list[Path]) -> tuple[np.ndarray, tuple[int, int, int]]:
    pipe.sql(SCRIPT)
    times = []
    with pipe.run() as run:
        for path in files:
            started = time.perf_counter()
            run.load("events", path)
            run.step()
            times.append(time.perf_counter() - started)
        result = run.read("totals")
    answer = (result.num_rows, int(np.sum(result["total"])), int(np.sum(result["n"])))
    return np.array(times[WARM_UP:]), answer


def _structured_streaming(spark: SparkSession, folder: Path) -> tuple[np.ndarray, tuple[int, int, int]]:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    spark.conf.set("spark.sql.shuffle.partitions", "2")
    stream = (
        spark.readStream.schema("k BIGINT, amount BIGINT")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "events"))
    )
    totals: DataFrame = stream.groupBy("k").agg(F.sum("amount").alias("total"), F.count("*").alias("n"))
    query = (
        totals.writeStream.outputMode("update")
        .format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    times = [p["durationMs"]["triggerExecution"] / 1e3 for p in query.recentProgress if p["numInputRows"]]
    batch = spark.read.parquet(str(folder / "events")).groupBy("k").agg(F.sum("amount"), F.count("*"))
    row = batch.agg(F.count("*"), F.sum("sum(amount)"), F.sum("count(1)")).first()
    assert row is not None
    return np.array(times[WARM_UP:]), (int(row[0]), int(row[1]), int(row[2]))
