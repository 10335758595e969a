"""Structured Streaming running one query over Parquet files until it has read them all.

Reads a request from standard input: ``{"query": sql, "tables": {name: {"schema": ddl, "folder": folder,
"stream": bool}}, "mode": "append" or "update", "watermark": {table: column}, "store": class of the state
store or null, "threads": n, "heap": size, "answer": folder or null}``; prints ``{"seconds": time}`` or
``{"error": text}``. Each trigger takes one file of every stream. The output is thrown away unless an answer
is asked for: then each batch's rows are written as Parquet with a column ``_batch``. Imports nothing of
this project.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    spark = session(request)
    try:
        found: dict[str, Any] = {"seconds": measured(spark, request)}
    except PySparkException as problem:
        found = {"error": str(problem)}
    print(json.dumps(found), flush=True)


def session(request: dict[str, Any]) -> SparkSession:
    """A local session with as many slots and shuffle partitions as threads."""
    threads = int(request["threads"])
    builder = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.driver.memory", request["heap"])
        .config("spark.sql.shuffle.partitions", threads)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if request["store"]:
        builder = builder.config("spark.sql.streaming.stateStore.providerClass", request["store"])
    return builder.getOrCreate()


def measured(spark: SparkSession, request: dict[str, Any]) -> float:
    """Seconds from the start of the query to its end."""
    for name, table in request["tables"].items():
        declare(spark, name, table, request["watermark"].get(name))
    result = spark.sql(request["query"])
    with tempfile.TemporaryDirectory(prefix="streaming-") as checkpoint:
        writer = result.writeStream.outputMode(request["mode"]).option("checkpointLocation", checkpoint)
        folder = request["answer"]
        if folder:
            writer = writer.foreachBatch(lambda rows, batch: keep(rows, batch, folder))
        else:
            writer = writer.format("noop")
        started = time.perf_counter()
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return time.perf_counter() - started


def declare(spark: SparkSession, name: str, table: dict[str, Any], watermark: str | None) -> None:
    """Makes a table known to SQL by its name."""
    if table["stream"]:
        reader = spark.readStream.schema(table["schema"]).option("maxFilesPerTrigger", 1)
        frame = reader.parquet(table["folder"])
        if watermark:
            frame = frame.withWatermark(watermark, "0 seconds")
    else:
        frame = spark.read.schema(table["schema"]).parquet(table["folder"])
    frame.createOrReplaceTempView(name)


def keep(rows: DataFrame, batch: int, folder: str) -> None:
    """Adds one batch to the answer."""
    rows.withColumn("_batch", lit(batch)).write.mode("append").parquet(folder)


if __name__ == "__main__":
    main()
