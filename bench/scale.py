"""How does throughput scale with the number of workers, and what does the exchange cost?

Steps of a million changed rows with 1, 2 and 4 workers: through a grouped sum and count over 100,000 groups,
and through a join and a grouped sum. One pipeline per number of workers is open at a time, all are given the
same files in turns, and the order changes from round to round. A step's time ends when the workers have also
done what they do after it (merging); commits, the disk's work, are left out. The answers are compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock as ps
from bench.report import Result, spread
from bench.sketch import Line, Lines, Mark
from penstock.oracle import difference
from penstock.spark import find_or_make_session

__all__ = ["MINUTES", "Timing", "add_arguments", "measure", "results", "run"]

WORKERS = (1, 2, 4)
ROWS = 1_000_000
ROUNDS = 15
WARM_UP = 2
GROUPS = 100_000
GOAL = 1.6
MINUTES = 4.0

SCRIPTS = {
    "grouped": """
CREATE TABLE events (k BIGINT, amount BIGINT) TBLPROPERTIES ('appendOnly' = 'true');
CREATE MATERIALIZED VIEW totals AS SELECT k, sum(amount) AS total, count(*) AS n FROM events GROUP BY k;
""",
    "join": """
CREATE TABLE customers (id BIGINT PRIMARY KEY, region BIGINT);
CREATE TABLE events (id BIGINT PRIMARY KEY, k BIGINT, amount BIGINT);
CREATE MATERIALIZED VIEW totals AS
  SELECT c.region, sum(e.amount) AS total, count(*) AS n
  FROM events e JOIN customers c ON e.k = c.id GROUP BY c.region;
""",
}
TITLES = {"grouped": "grouped sum and count", "join": "join and grouped sum"}


@dataclass
class Timing:
    """Seconds of every timed step, and how many of them a worker spent in exchanges on average."""

    steps: list[float] = field(default_factory=list)
    exchange: list[float] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--rows", type=int, default=ROWS, help=f"changed rows of a step (default {ROWS:,})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"timed rounds (default {ROUNDS})")


def run(arguments: argparse.Namespace) -> list[Result]:
    """Both workloads, one after the other."""
    spark, _ = find_or_make_session("scale", sum(WORKERS))
    timings = {}
    for workload in SCRIPTS:
        timings[workload] = measure(spark, workload, arguments.rows, arguments.rounds)
        for workers, timing in timings[workload].items():
            print(f"  {workload}, W = {workers}: {median(timing.steps) * 1e3:.0f} ms a step", flush=True)
    return results(arguments.rows, timings)


def measure(
    spark: SparkSession, workload: str, rows: int, rounds: int, workers: Sequence[int] = WORKERS
) -> dict[int, Timing]:
    """Steps of all pipelines in turns, over the same files."""
    timings = {count: Timing() for count in workers}
    with tempfile.TemporaryDirectory(prefix="penstock-scale-") as name, ExitStack() as opened:
        folder = Path(name)
        runs = {count: _opened(spark, workload, count, folder / str(count)) for count in workers}
        for each in runs.values():
            opened.callback(each.kill)
        for number in range(WARM_UP + rounds):
            path = _write_file(workload, number, rows, folder / f"{number}.parquet")
            for count in workers if number % 2 else workers[::-1]:
                took, exchange = _step(runs[count], path)
                if number >= WARM_UP:
                    timings[count].steps.append(took)
                    timings[count].exchange.append(exchange)
        _compare(runs)
    return timings


def _opened(spark: SparkSession, workload: str, workers: int, storage: Path) -> ps.Run:
    pipe = ps.Pipeline("scale", storage=storage, workers=workers, spark=spark, commit_interval_s=3600)
    pipe.sql(SCRIPTS[workload])
    run = pipe.run()
    if workload == "join":
        ids = np.arange(GROUPS)
        run.insert("customers", pa.table({"id": ids, "region": ids % 1000}))
        run.step()
    return run


def _write_file(workload: str, number: int, rows: int, path: Path) -> Path:
    """Random keys, every file others. In the join about half of the rows are updates after the first."""
    rng = np.random.default_rng(number)
    columns = {"k": rng.integers(0, GROUPS, rows), "amount": rng.integers(0, 1000, rows)}
    if workload == "join":
        columns["id"] = rng.choice(2 * rows, rows, replace=False)
    pq.write_table(pa.table(columns), path, row_group_size=max(1, rows // 8))
    return path


def _step(run: ps.Run, path: Path) -> tuple[float, float]:
    started = time.perf_counter()
    run.load("events", path)
    report = run.step()
    run.settle()  # what workers do in passing is part of it, and must not disturb the next pipeline's turn
    return time.perf_counter() - started, report.duration_ms["exchange"] / 1e3


def _compare(runs: Mapping[int, ps.Run]) -> None:
    (first, reference), *others = runs.items()
    expected = reference.read("totals")
    for count, run in others:
        if (found := difference(run.read("totals"), expected)) is not None:
            raise SystemExit(f"{count} workers answer differently from {first}: {found}")


def results(rows: int, timings: Mapping[str, Mapping[int, Timing]]) -> list[Result]:
    """For each workload its speed-up with two workers: the median of the rounds' ratios."""
    table = [
        {
            "workload": TITLES[workload],
            "workers": workers,
            "rows/s": int(rows / median(timing.steps)),
            "step ms (median)": median(timing.steps) * 1e3,
            "min": min(timing.steps) * 1e3,
            "max": max(timing.steps) * 1e3,
            "in exchange ms": median(timing.exchange) * 1e3,
            "speed-up": median(_ratios(by_workers[1], timing)),
        }
        for workload, by_workers in timings.items()
        for workers, timing in by_workers.items()
    ]
    what = f"Steps of {rows:,} changed rows, by the number of workers"
    lines = [
        Line(TITLES[workload], [_point(workers, by_workers) for workers in by_workers])
        for workload, by_workers in timings.items()
    ]
    mark = Mark(GOAL, f"goal for two workers: at least {GOAL:g}")
    notes = ["in exchange: a worker's mean time sending rows to its peers and waiting for theirs"]
    return [
        Result(
            f"scale-{workload}",
            what,
            median(_ratios(by_workers[1], by_workers[2])),
            GOAL,
            "x W = 1",
            table,
            at_least=True,
            notes=notes,
            spread=spread(_ratios(by_workers[1], by_workers[2])),
            sketch=Lines(
                what, "workers", "times one worker: median, min to max of the rounds", lines, [mark]
            ),
        )
        for workload, by_workers in timings.items()
    ]


def _point(workers: int, timings: Mapping[int, Timing]) -> tuple[float, float, float, float]:
    ratios = _ratios(timings[1], timings[workers])
    return workers, median(ratios), min(ratios), max(ratios)


def _ratios(one: Timing, other: Timing) -> list[float]:
    return [before / now for before, now in zip(one.steps, other.steps, strict=True)]
