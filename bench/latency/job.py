"""A step beside an empty Spark job, in turns.

100 changed rows through a three-way join and a grouped aggregate, resident workers, against a Spark job of
one task that does nothing, alternating in the same run after both have warmed up. The job is one as PySpark
runs it, ``parallelize([0], 1).count()``: the least that a Python program can ask of Spark. Beside it stands
the same in the JVM alone, which no Python program can run through an interface meant for it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import penstock as ps
from bench.report import Result, spread
from bench.sketch import Bar, Bars, Mark

__all__ = ["beside_a_job"]

ROUNDS = 400
WARM_UP_STEPS = 100
WARM_UP_JOBS = (
    600  # until the JVM has compiled what a job runs: before, compiling takes a core from the steps
)
GOAL = 0.5

Millis = NDArray[np.float64]

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
    steps, job, bare = _alternating(workers)
    rows = [
        {
            "what": what,
            "p10 ms": float(np.percentile(times, 10)),
            "p50 ms": float(np.median(times)),
            "p90 ms": float(np.percentile(times, 90)),
            "p99 ms": float(np.percentile(times, 99)),
            "step / this (p50)": float(np.median(steps) / np.median(times)),
        }
        for what, times in (
            ("step of 100 rows", steps),
            ("empty one-task Spark job", job),
            ("the same in the JVM alone", bare),
        )
    ]
    what = (
        f"Step of 100 rows through a three-way join and an aggregate, workers: {workers}; an empty Spark job"
    )
    return Result(
        name,
        what,
        float(np.median(steps) / np.median(job)),
        GOAL,
        "x",
        rows,
        notes=[
            "the job is parallelize([0], 1).count() of PySpark; steps include their commits",
            f"warm-up: {WARM_UP_STEPS} steps and {WARM_UP_JOBS} jobs of each kind",
        ],
        spread=spread(steps / np.median(job)),
        sketch=_sketch(what, *(float(np.median(times)) for times in (steps, job, bare))),
    )


def _sketch(what: str, step: float, job: float, bare: float) -> Bars:
    bars = [
        Bar("step of 100 rows", step, step <= GOAL * job),
        Bar("empty one-task Spark job", job),
        Bar("the same in the JVM alone", bare),
    ]
    return Bars(what, "milliseconds (median)", bars, [Mark(GOAL * job, "goal: half of the job")])


def _alternating(workers: int) -> tuple[Millis, Millis, Millis]:
    """Milliseconds of steps, of empty jobs, and of jobs in the JVM alone, by turns after the steps."""
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory(prefix="penstock-latency-") as folder:
        pipe = ps.Pipeline("latency", storage=Path(folder), workers=workers)
        pipe.sql(SCRIPT)
        context = pipe.spark.sparkContext
        jobs: list[Callable[[], object]] = [
            lambda: context.parallelize([0], 1).count(),
            lambda: context._jsc.sc().range(0, 1, 1, 1).count(),
        ]
        with pipe.run() as run:
            _fill(run, rng)

            def step() -> float:
                run.upsert("orders", _orders(rng, rng.choice(200_000, 100, replace=False)))
                return _millis(run.step)

            for _ in range(WARM_UP_STEPS):
                step()
            for job in jobs:
                for _ in range(WARM_UP_JOBS):
                    job()
            steps, taken = [], ([], [])
            for number in range(ROUNDS):
                steps.append(step())
                taken[number % 2].append(_millis(jobs[number % 2]))
            run.kill()
    return np.array(steps), np.array(taken[0]), np.array(taken[1])


def _millis(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _fill(run: ps.Run, rng: np.random.Generator) -> None:
    ids = np.arange(10_000)
    run.upsert("customers", pa.table({"id": ids, "region": pa.array(ids % 50, pa.int32())}))
    prices = {"id": ids, "category": pa.array(ids % 20, pa.int32()), "price": rng.gamma(2.0, 9.0, 10_000)}
    run.upsert("products", pa.table(prices))
    run.upsert("orders", _orders(rng, np.arange(100_000)))
    run.step()


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
