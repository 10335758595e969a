"""Does the time of a step depend on the size of the state?

1,000 changed rows (900 updated, 100 new) through a join and a grouped sum, with more and more rows in
the tables. The work is the same each time; only the state grows.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from bench.report import Result
from bench.sketch import Line, Lines, Mark

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
CHUNK = 500_000
STEPS = 41
WARM_UP = 10
GOAL = 1.5
MINUTES = 3.0
WHAT = "Step of 1,000 changed rows through a join and a grouped sum, by rows stored"

SCRIPT = """
CREATE TABLE customers (id BIGINT PRIMARY KEY, region INT);
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount DOUBLE);
CREATE MATERIALIZED VIEW revenue AS
  SELECT c.region, count(*) AS orders, sum(o.amount) AS total
  FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.region;
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line: none, so that figures can be compared."""


def run(_: argparse.Namespace) -> Result:
    """Measures all sizes, each in a pipeline of its own."""
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="penstock-growth-") as folder:
            rows.append(_measure(size, Path(folder)))
            print(f"  {size:,} rows: step {rows[-1]['step ms (median)']:.1f} ms", flush=True)
    ratio = rows[-1]["step ms (median)"] / rows[0]["step ms (median)"]
    return Result(
        "growth",
        WHAT,
        ratio,
        GOAL,
        "x",
        rows,
        sketch=sketch(rows, GOAL),
    )


def sketch(rows: Sequence[Mapping[str, float]], goal: float) -> Lines:
    """The picture: step times by rows stored, and the goal as a multiple of the first."""
    points = [(row["rows"], row["step ms (median)"], row["p10"], row["p90"]) for row in rows]
    mark = Mark(goal * points[0][1], f"goal: at most {goal:g} times the first")
    return Lines(WHAT, "rows stored", "milliseconds: median, p10 to p90", [Line("step", points)], [mark])


def _measure(size: int, folder: Path) -> dict[str, float]:
    rng = np.random.default_rng(size)
    customers = max(1000, size // 10)
    pipe = ps.Pipeline("growth", storage=folder)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        ids = np.arange(customers)
        run.upsert("customers", pa.table({"id": ids, "region": pa.array(ids % 1000, pa.int32())}))
        for start in range(0, size, CHUNK):
            run.upsert("orders", _orders(rng, np.arange(start, min(size, start + CHUNK)), customers))
            run.step()
        run.settle()
        run.commit()
        times = []
        for step in range(STEPS):
            changed = rng.choice(size, 900, replace=False)
            fresh = size + step * 100 + np.arange(100)
            run.upsert("orders", _orders(rng, np.concatenate((changed, fresh)), customers))
            report = run.step()
            times.append(report.duration_ms["run"] + report.duration_ms["log"])
        run.kill()
    timed = np.array(times[WARM_UP:])
    return {
        "rows": size,
        "step ms (median)": float(np.median(timed)),
        "p10": float(np.percentile(timed, 10)),
        "p90": float(np.percentile(timed, 90)),
    }


def _orders(rng: np.random.Generator, ids: np.ndarray, customers: int) -> pa.Table:
    return pa.table(
        {
            "id": ids,
            "customer": rng.integers(0, customers, len(ids)),
            "amount": rng.gamma(2.0, 50.0, len(ids)),
        }
    )
