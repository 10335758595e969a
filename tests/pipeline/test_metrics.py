"""Progress records: what dashboards made for Structured Streaming read."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import penstock as ps
from penstock.storage import open_backend, read_metrics

_SCRIPT = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount BIGINT);
CREATE MATERIALIZED VIEW revenue AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
"""


def test_a_progress_record_says_what_a_step_did_and_what_is_held(tmp_path: Path, spark: SparkSession) -> None:
    pipe = ps.Pipeline("shop", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(_SCRIPT)
    with pipe.run() as run:
        run.insert("orders", [{"id": i, "customer": "ab"[i % 2], "amount": i} for i in range(10)])
        run.step()
        run.commit()
        run.upsert("orders", [{"id": 3, "customer": "a", "amount": 30}])
        run.step()
        first, second = run.progress
    assert (first["batchId"], first["numInputRows"], second["numInputRows"]) == (1, 10, 1)
    assert first["sources"] == [{"description": "orders", "numInputRows": 10}]
    assert first["sinks"] == [{"description": "revenue", "numOutputRows": 2}]
    assert second["sinks"] == [{"description": "revenue", "numOutputRows": 4}]
    assert second["durationMs"]["triggerExecution"] >= second["durationMs"]["addBatch"] > 0
    state = {operator["operatorName"]: operator for operator in second["stateOperators"]}
    orders = state["table orders by id"]
    assert (orders["numRowsTotal"], orders["numRowsUpdated"]) == (10, 2)  # what was held, - old + new
    assert orders["memoryUsedBytes"] > 10 * 3 * 8


def test_counters_of_all_workers_and_steps_are_summed_and_kept(tmp_path: Path, spark: SparkSession) -> None:
    pipe = ps.Pipeline("shop", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(_SCRIPT)
    with pipe.run() as run:
        for start in (0, 10):
            run.insert("orders", [{"id": start + i, "customer": "ab"[i % 2], "amount": i} for i in range(10)])
            run.step()
        run.commit()
    kept = read_metrics(open_backend(str(tmp_path)))
    assert kept is not None
    table = next(o for o in kept["operators"] if o["operator"] == "table")
    assert (kept["steps"], kept["input_rows"]) == (2, 20)
    assert (table["steps"], table["rows_in"], table["rows_out"], table["state_rows"]) == (2, 20, 20, 20)
