"""Are steps as quick while a large merge runs, and while a version is made, as otherwise?

A table of ten million rows by key. Small steps, 100 updated rows each, are timed in three phases that take
turns: with nothing else going on, while the table's largest batches are merged (many rows were updated just
before, so that they are due), and while one version is made after the other.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from bench.report import Result
from bench.sketch import Bar, Bars, Mark

MINUTES = 6.0
ROWS = 10_000_000
CHUNK = 500_000
STEPS = 400
WARM_UP = 30
CHANGED = 100
PHASES = 3
GOAL = 1.5
WHAT = "99th percentile of a step of 100 rows on a table of 10 million, by what goes on beside it"

SCRIPT = """
CREATE TABLE t (k BIGINT PRIMARY KEY, g BIGINT, v BIGINT, note STRING);
CREATE MATERIALIZED VIEW totals AS SELECT g, count(*) AS n, sum(v) AS v FROM t GROUP BY g;
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of the table (default {ROWS:,})")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All phases, in turns."""
    rng = np.random.default_rng(11)
    timed: dict[str, list[float]] = {"nothing": [], "a merge": [], "versions": []}
    with tempfile.TemporaryDirectory(prefix="penstock-merging-") as folder:
        quiet = ps.Pipeline("merging", storage=Path(folder), commit_interval_s=3600)
        quiet.sql(SCRIPT)
        with quiet.run() as run:
            for start in range(0, arguments.rows, CHUNK):
                run.upsert("t", _rows(rng, np.arange(start, start + CHUNK)))
                run.step()
            run.settle()
        busy = ps.Pipeline("merging", storage=Path(folder), commit_interval_s=0.02)
        for _ in range(PHASES):
            with quiet.run() as run:
                _steps(run, rng, arguments.rows, WARM_UP)
                timed["nothing"] += _steps(run, rng, arguments.rows, STEPS)
                # Two thirds of the rows once more, to be merged with the largest batch.
                for _ in range(2 * arguments.rows // 3 // CHUNK):
                    run.upsert("t", _rows(rng, rng.choice(arguments.rows, CHUNK, replace=False)))
                    run.step()
                timed["a merge"] += _steps(run, rng, arguments.rows, STEPS)
                run.settle()
            with busy.run() as run:
                _steps(run, rng, arguments.rows, WARM_UP)
                timed["versions"] += _steps(run, rng, arguments.rows, STEPS)
            print(f"  {_shown(timed)}", flush=True)
    return results(timed)


def _shown(timed: dict[str, list[float]]) -> str:
    return ", ".join(f"{name}: {np.percentile(times, 99):.1f} ms" for name, times in timed.items())


def _steps(run: ps.Run, rng: np.random.Generator, rows: int, steps: int) -> list[float]:
    times = []
    for _ in range(steps):
        run.upsert("t", _rows(rng, rng.choice(rows, CHANGED, replace=False)))
        began = time.perf_counter()
        run.step()
        times.append((time.perf_counter() - began) * 1000)
    return times


def _rows(rng: np.random.Generator, keys: np.ndarray) -> pa.Table:
    values = rng.integers(0, 10**6, len(keys))
    note = pa.array(keys % 99_991).cast(pa.string())
    return pa.table({"k": keys, "g": keys % 1000, "v": values, "note": note})


def results(timed: dict[str, list[float]]) -> list[Result]:
    """Each phase beside the quiet one."""
    p99 = {name: float(np.percentile(times, 99)) for name, times in timed.items()}
    rows = [
        {"beside": name, "p50 ms": float(np.median(times)), "p99 ms": p99[name], "steps": len(times)}
        for name, times in timed.items()
    ]
    ratios = {name: p99[name] / p99["nothing"] for name in timed if name != "nothing"}
    bars = [Bar(name, ratio, ratio <= GOAL) for name, ratio in ratios.items()]
    picture = Bars(WHAT, "times the quiet p99", bars, [Mark(GOAL, f"goal: at most {GOAL:g}")])
    names = {"a merge": "merging-merge", "versions": "merging-version"}
    return [
        Result(names[name], WHAT, ratio, GOAL, "x quiet", rows, sketch=picture)
        for name, ratio in ratios.items()
    ]
