"""A step beside an empty Spark job, in turns.

100 changed rows through a three-way join and a grouped aggregate, resident workers, against a Spark job of
one task that does nothing, alternating in the same run.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from bench.report import Result, spread
from bench.sketch import Bar, Bars, Mark

__all__ = ["beside_a_job"]

ROUNDS = 300
WARM_UP = 50
GOAL = 0.5

SCRIPT = """
CREATE TABLE customers (id BIGINT PRIMARY KEY, region INT);
CREATE TABLE products (id BIGINT PRIMARY KEY, category INT, price DOUBLE);
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, product BIGINT, quantity INT);
CREATE MATERIALIZED VIEW revenue AS
  SELECT c.region, p.category, count(*) AS orders, sum(o.quantity * p.price) AS total
  FROM orders o JOIN customers c ON o.customer = c.id JOIN products p ON o.product = p.id
  GROUP BY c.region, p.category;
"""


def beside_a_job() -> list[Result]:
    """Two workers, the default, who exchange three times in a step; and one, as the job has one task."""
    return [_result(workers, name) for workers, name in ((1, "latency-one-worker"), (2, "latency"))]


def _result(workers: int, name: str) -> Result:
    steps, empty = _alternating(workers)
    rows = [
        {
            "what": what,
            "p10 ms": float(np.percentile(times, 10)),
            "p50 ms": float(np.median(times)),
            "p90 ms": float(np.percentile(times, 90)),
            "p99 ms": float(np.percentile(times, 99)),
        }
        for what, times in (("step of 100 rows", steps), ("empty one-task Spark job", empty))
    ]
    what = (
        f"Step of 100 rows through a three-way join and an aggregate, workers: {workers}; an empty Spark job"
    )
    return Result(
        name,
        what,
        float(np.median(steps) / np.median(empty)),
        GOAL,
        "x",
        rows,
        notes=["the empty job is counted in the JVM, without a Python worker", "steps include their commits"],
        spread=spread(steps / np.median(empty)),
        sketch=_sketch(what, float(np.median(steps)), float(np.median(empty))),
    )


def _sketch(what: str, step: float, job: float) -> Bars:
    bars = [Bar("step of 100 rows", step, step <= GOAL * job), Bar("empty one-task Spark job", job)]
    return Bars(what, "milliseconds (median)", bars, [Mark(GOAL * job, "goal: half of the job")])


def _alternating(workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds of steps and of empty jobs, taken in turns."""
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory(prefix="penstock-latency-") as folder:
        pipe = ps.Pipeline("latency", storage=Path(folder), workers=workers)
        pipe.sql(SCRIPT)
        context = pipe.spark.sparkContext
        with pipe.run() as run:
            ids = np.arange(10_000)
            run.upsert("customers", pa.table({"id": ids, "region": pa.array(ids % 50, pa.int32())}))
            products = {
                "id": ids,
                "category": pa.array(ids % 20, pa.int32()),
                "price": rng.gamma(2.0, 9.0, 10_000),
            }
            run.upsert("products", pa.table(products))
            run.upsert("orders", _orders(rng, np.arange(100_000)))
            run.step()
            steps, empty = [], []
            for _ in range(ROUNDS):
                run.upsert("orders", _orders(rng, rng.choice(200_000, 100, replace=False)))
                started = time.perf_counter()
                run.step()
                steps.append((time.perf_counter() - started) * 1000)
                started = time.perf_counter()
                context._jsc.sc().range(0, 1, 1, 1).count()
                empty.append((time.perf_counter() - started) * 1000)
            run.kill()
    return np.array(steps[WARM_UP:]), np.array(empty[WARM_UP:])


def _orders(rng: np.random.Generator, ids: np.ndarray) -> pa.Table:
    size = len(ids)
    return pa.table(
        {
            "id": ids,
            "customer": rng.integers(0, 10_000, size),
            "product": rng.integers(0, 10_000, size),
            "quantity": pa.array(rng.integers(1, 9, size), pa.int32()),
        }
    )
