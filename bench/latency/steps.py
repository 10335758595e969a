"""Distributions of step times, and of what stands beside them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

import penstock as ps
from bench.latency.streaming import trigger_times
from bench.latency.views import TITLES, changed_lines, tables_of, views
from bench.report import Result
from bench.sketch import Mark, Range, Ranges
from penstock.oracle import Query
from penstock.oracle.drive import script

__all__ = ["Times", "measured", "results"]

SIZES = (1, 100, 10_000)
PAUSE_S = {"idle": 0.05, "tight loop": 0.0}
WARM_UP = 10
LARGE_ROUNDS = 5  # a large step is timed in one of five rounds: its spread is small
GOALS = {"p50": 10.0, "p99": 30.0}
JUDGED = ("q03", 100)
NOTES = (
    "step times are those of run.step(), including the log entry and any commit that falls due; pushing the "
    "rows is shown separately",
    f"idle: {PAUSE_S['idle'] * 1e3:.0f} ms between the steps; tight loop: none, so merging after a step "
    "delays the next one",
    "the goals are for 100 rows through TPC-H's query 3, for the slower of idle and tight loop and the "
    "faster of one worker and two: a single worker does not have to synchronise",
    "the empty job is timed in the JVM, without a Python worker; Structured Streaming's time is "
    "durationMs.triggerExecution of the filter and projection over files of 100 rows, with a checkpoint",
)

Millis = NDArray[np.float64]


@dataclass(frozen=True)
class Times:
    """Milliseconds of all timed steps of one kind, and of the pushes before them."""

    view: str
    workers: int
    size: int
    pace: str
    steps: Millis
    pushes: Millis


def measured(
    spark: SparkSession,
    contents: Mapping[str, pa.RecordBatch],
    rounds: int,
    what: str,
    sizes: Sequence[int] = SIZES,
) -> list[Result]:
    """Runs all views; every view is compared with batch Spark in the end."""
    times = [found for view in views() for found in _steps(spark, view, 2, contents, rounds, sizes)]
    judged = next(view for view in views() if view.name == JUDGED[0])
    times += _steps(spark, judged, 1, contents, rounds, [size for size in sizes if size == JUDGED[1]])
    beside = {
        "empty one-task Spark job": _empty_jobs(spark, rounds),
        "Structured Streaming's trigger": trigger_times(spark, views()[0], contents["lineitem"], rounds),
    }
    return results(what, times, beside)


def _steps(
    spark: SparkSession,
    view: Query,
    workers: int,
    contents: Mapping[str, pa.RecordBatch],
    rounds: int,
    sizes: Sequence[int],
) -> Iterator[Times]:
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory(prefix="penstock-latency-") as folder:
        pipe = ps.Pipeline("latency", storage=Path(folder), workers=workers, spark=spark)
        held = tables_of(view)
        pipe.sql(script(held, [view]))
        with pipe.run() as run:
            for table in held:
                run.insert(table.name, contents[table.name])
            run.step()
            for size, pace in product(sizes, PAUSE_S):
                count = rounds if size < SIZES[-1] else max(1, rounds // LARGE_ROUNDS)
                warm_up = min(WARM_UP, rounds)
                changes = (changed_lines(rng, contents, size) for _ in range(warm_up + count))
                timed = np.array([_one(run, rows, PAUSE_S[pace]) for rows in changes])[warm_up:] * 1e3
                yield Times(view.name, workers, size, pace, timed[:, 1], timed[:, 0])
                print(f"  {view.name}, {_counted(size)}, {pace}: {np.median(timed[:, 1]):.1f} ms", flush=True)
            if not run.verify(view.name):
                raise SystemExit(f"view {view.name} differs from what Spark computes")
            run.kill()


def _one(run: ps.Run, rows: pa.RecordBatch, pause_s: float) -> tuple[float, float]:
    """Seconds of pushing, and of the step."""
    if pause_s:
        time.sleep(pause_s)
    started = time.perf_counter()
    run.upsert("lineitem", rows)
    pushed = time.perf_counter()
    run.step()
    return pushed - started, time.perf_counter() - pushed


def _empty_jobs(spark: SparkSession, rounds: int) -> Millis:
    times = []
    for _ in range(WARM_UP + rounds):
        started = time.perf_counter()
        spark.sparkContext._jsc.sc().range(0, 1, 1, 1).count()
        times.append((time.perf_counter() - started) * 1e3)
    return np.array(times[WARM_UP:])


def results(what: str, times: Sequence[Times], beside: Mapping[str, Millis]) -> list[Result]:
    """The table of all distributions, judged by its rows for query 3 with 100 changed rows."""
    rows = [
        {
            "view": TITLES[found.view],
            "workers": found.workers,
            "changed rows": found.size,
            "pace": found.pace,
            **_percentiles(found.steps),
            "push ms (p50)": float(np.median(found.pushes)),
        }
        for found in times
    ]
    nothing = {"workers": "", "changed rows": "", "pace": "", "push ms (p50)": ""}
    rows += [{"view": name, **nothing, **_percentiles(found)} for name, found in beside.items()]
    judged = _judged(times)
    return [
        Result(
            f"latency-q3-{name}",
            what,
            max(float(np.percentile(steps, int(name[1:]))) for steps in judged),
            goal,
            " ms",
            rows,
            notes=NOTES,
            sketch=_sketch(what, times, beside),
        )
        for name, goal in GOALS.items()
    ]


def _judged(times: Sequence[Times]) -> list[Millis]:
    """The steps that the goals are about, with the number of workers that serves them better."""
    asked = [found for found in times if (found.view, found.size) == JUDGED]
    by_workers = [
        [found.steps for found in asked if found.workers == workers]
        for workers in {found.workers for found in asked}
    ]
    return min(by_workers, key=lambda paces: max(float(np.median(steps)) for steps in paces))


def _percentiles(times: Millis) -> dict[str, float]:
    found = np.percentile(times, (10, 50, 90, 99))
    return {
        f"{name} ms": float(value) for name, value in zip(("p10", "p50", "p90", "p99"), found, strict=True)
    }


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _sketch(what: str, times: Sequence[Times], beside: Mapping[str, Millis]) -> Ranges:
    labelled = [
        (f"{TITLES[t.view]}: {_counted(t.size)}, {t.pace}{', one worker' if t.workers == 1 else ''}", t.steps)
        for t in times
    ]
    labelled += [(f"Spark, beside them: {name}", found) for name, found in beside.items()]
    ranges = [
        Range(label, *map(float, np.percentile(found, (1, 10, 50, 90, 99)))) for label, found in labelled
    ]
    marks = [Mark(goal, f"{name} goal, query 3") for name, goal in GOALS.items()]
    return Ranges(what, "milliseconds (line: p1 to p99, box: p10 to p90)", ranges, marks)
