"""How many bytes does a version cost, with a version for every step?

Twenty views over one table, and a step of a few hundred changed rows for every second of an hour, one after
the other without the waiting. After the last step of every stretch the folder is looked at: everything that
was written for a version counts, its manifest, its pages and its segments, merges included; the input log
does not. It is compared with what the steps themselves added: their batches, and the changes of views.
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
from penstock.schedule.storage_counts import StorageCounts
from penstock.storage import open_backend, read_metrics

MINUTES = 5.0
VIEWS = 20
STEPS = 3600
STRETCH = 300
CHANGED = 300
ROWS = 20_000
GOAL = 3.0
WHAT = f"Bytes written per version beside those that its step added, {VIEWS} views, a version for every step"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps in all (default {STEPS:,})")


def script() -> str:
    """A table, and views of different kinds over it."""
    kinds = (
        "SELECT k % {n} AS g, count(*) AS c, sum(v) AS s FROM t GROUP BY k % {n}",
        "SELECT k, v, s FROM t WHERE k % {n} = 0",
        "SELECT DISTINCT v % {n}00 AS d FROM t",
        "SELECT a.k, a.v, b.s FROM t a JOIN t b ON a.k = b.v WHERE a.k % {n} = 1",
    )
    views = [
        f"CREATE MATERIALIZED VIEW v{n} AS " + kinds[n % len(kinds)].format(n=n + 2) + ";"
        for n in range(VIEWS)
    ]
    return "\n".join(["CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, s STRING);", *views])


def run(arguments: argparse.Namespace) -> Result:
    """An hour's worth of steps, looked at in stretches."""
    rng = np.random.default_rng(5)
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="penstock-commits-") as name:
        folder = Path(name)
        pipe = ps.Pipeline("commits", storage=folder, commit_interval_s=0)
        pipe.sql(script())
        with pipe.run() as run:
            run.upsert("t", _changed(rng, np.arange(ROWS)))
            run.step()
            before, metadata, seen = _counts(run, folder), 0, _metadata(folder)
            for step in range(1, arguments.steps + 1):
                run.upsert("t", _changed(rng, rng.choice(ROWS, CHANGED, replace=False)))
                run.step()
                files = _metadata(folder)
                metadata += sum(size for file, size in files.items() if file not in seen)
                seen = files
                if step % STRETCH == 0:
                    now = _counts(run, folder)
                    rows.append(_row(step, before, now, metadata))
                    before, metadata = now, 0
                    print(f"  {step:,} steps: {rows[-1]['x added']:.2f}x", flush=True)
    figure = float(np.median([row["x added"] for row in rows[-3:]]))
    return Result("commits", WHAT, figure, GOAL, "x added", rows, sketch=sketch(rows))


def _changed(rng: np.random.Generator, keys: np.ndarray) -> pa.Table:
    return pa.table(
        {
            "k": keys,
            "v": rng.integers(0, ROWS, len(keys)),
            "s": pa.array(rng.integers(0, 10**9, len(keys))).cast(pa.string()),
        }
    )


def _counts(run: ps.Run, folder: Path) -> StorageCounts:
    run.commit()  # stores the metrics
    metrics = read_metrics(open_backend(str(folder)))
    assert metrics is not None
    return StorageCounts.total(StorageCounts(**counts) for counts in metrics["storage"])


def _metadata(folder: Path) -> dict[str, int]:
    """The manifests and pages that there are, with their sizes."""
    found = {}
    for part in ("manifest", "changes"):
        for path in (folder / part).glob("*.json"):
            found[f"{part}/{path.name}"] = path.stat().st_size
    return found


def _row(step: int, before: StorageCounts, now: StorageCounts, metadata: int) -> dict[str, float]:
    added = now.added_bytes - before.added_bytes
    written = now.written_bytes - before.written_bytes
    return {
        "steps": step,
        "added KB a step": added / STRETCH / 1024,
        "segments KB": written / STRETCH / 1024,
        "manifests and pages KB": metadata / STRETCH / 1024,
        "x added": (written + metadata) / added,
    }


def sketch(rows: Sequence[Mapping[str, float]]) -> Lines:
    """Bytes written for each byte added, over the hour."""
    points = [(row["steps"], row["x added"], row["x added"], row["x added"]) for row in rows]
    marks = [Mark(GOAL, f"goal: at most {GOAL:g} times")]
    return Lines(
        WHAT, "steps so far", "bytes written for each byte added", [Line("written", points)], marks, True
    )
