"""How long does each of the 22 views take to follow a refresh, beside computing it anew?

Each view lives alone in a pipeline: the tables it reads are loaded from Parquet, then orders and their lines
are refreshed (half new, half deleted) and the step is timed. Spark computes the same query from the same
Parquet files in the same session; DuckDB from these files too, and from tables that it holds in memory in
its own format, which is the harder one to beat. All are timed after one run to warm up. The order of the two
Spark sides alternates from view to view. In the end the view is compared with what Spark computes over the
tables as they are, and its first answer with DuckDB's; one that differs misses a goal of its own.

Then all views live in one pipeline, which shares their tables and arrangements: its load is compared with
what Spark takes to compute all answers once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, median

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock as ps
from bench.peers import PeerMissingError, ask
from bench.report import Result, agreement
from bench.tpch.data import folder_of, generated, pieces, queries, tables
from bench.tpch.refresh import Refresh
from penstock.oracle import Query, difference
from penstock.oracle.drive import script
from penstock.oracle.fixtures import reads
from penstock.oracle.model import Step
from penstock.spark import find_or_make_session

__all__ = ["Timing", "add_arguments", "results", "run"]

GOALS = {"spark": 50.0, "duckdb": 5.0, "slowest": 1.0, "load": 3.0}
THREADS = 2
HEAP = "4g"
_DISCARDING_S = 1.0


@dataclass
class Timing:
    """Seconds: of the load, of each refresh by its share, and of computing the view anew. ``answers`` were to
    be compared with other systems', ``wrong`` says which did not agree."""

    load: float = 0.0
    refresh: dict[float, list[float]] = field(default_factory=dict)
    spark: list[float] = field(default_factory=list)
    duckdb: list[float] = field(default_factory=list)
    duckdb_files: list[float] = field(default_factory=list)
    note: str = ""
    answers: int = 0
    wrong: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the measurement."""
    shares = "0.0001,0.001,0.01,0.1"
    parser.add_argument(
        "--refresh", default=shares, help=f"shares of the orders that change (default {shares})"
    )
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of everything (default 5)")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All views, one after the other."""
    # With Spark's default of one gigabyte it cannot compute all answers at scale 1.
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-memory {HEAP} pyspark-shell")
    scale, shares = arguments.scale, [float(share) for share in arguments.refresh.split(",")]
    spark, _ = find_or_make_session("bench", THREADS)
    contents = generated(scale)
    chosen = [query for query in queries(scale) if not arguments.only or arguments.only in query.name]
    for name in contents:
        spark.read.parquet(str(folder_of(scale) / f"{name}.parquet")).createOrReplaceTempView(name)
    timings = {query.name: Timing() for query in chosen}
    with tempfile.TemporaryDirectory(prefix="penstock-tpch-") as answers:
        _duckdb(scale, contents, chosen, arguments.repeats, timings, Path(answers))
        for number, query in enumerate(chosen):
            timing = timings[query.name]
            sides: list[Callable[[], None]] = [
                lambda q=query, t=timing: _spark(spark, q, arguments.repeats, t),
                lambda q=query, t=timing: _penstock(
                    spark, scale, contents, [q], shares, arguments.repeats, t, Path(answers)
                ),
            ]
            for side in sides if number % 2 else sides[::-1]:
                side()
            print(f"  {query.name}: {_line(timing, shares)}", flush=True)
        together = Timing()
        for position in range(arguments.repeats):
            together.spark.append(sum(timing.spark[position] for timing in timings.values()))
            if all(timing.duckdb for timing in timings.values()):
                together.duckdb.append(sum(t.duckdb[position] for t in timings.values()))
                together.duckdb_files.append(sum(t.duckdb_files[position] for t in timings.values()))
        if len(chosen) > 1:
            _penstock(spark, scale, contents, chosen, shares, arguments.repeats, together, Path(answers))
            print(f"  all in one: {_line(together, shares)}", flush=True)
    return results(scale, shares, timings, together)


def _line(timing: Timing, shares: Sequence[float]) -> str:
    steps = ", ".join(f"{share:.2%} {median(timing.refresh[share]) * 1e3:.1f} ms" for share in shares)
    duckdb = f", DuckDB {median(timing.duckdb) * 1e3:.0f} ms" if timing.duckdb else ""
    return (
        f"load {timing.load:.1f} s, {steps}; Spark {median(timing.spark) * 1e3:.0f} ms{duckdb} {timing.note}"
    )


def _spark(spark: SparkSession, query: Query, repeats: int, timing: Timing) -> None:
    for number in range(repeats + 1):
        started = time.perf_counter()
        spark.sql(query.sql).write.format("noop").mode("overwrite").save()
        if number:
            timing.spark.append(time.perf_counter() - started)


def _duckdb(
    scale: float,
    contents: Mapping[str, pa.RecordBatch],
    chosen: Sequence[Query],
    repeats: int,
    timings: Mapping[str, Timing],
    answers: Path,
) -> None:
    request = {
        "tables": {name: str(folder_of(scale) / f"{name}.parquet") for name in contents},
        "queries": {query.name: query.sql for query in chosen},
        "repeats": repeats,
        "threads": THREADS,
        "answers": str(answers),
    }
    try:
        found = ask("duckdb", "duckdb_queries.py", request)
    except PeerMissingError as problem:
        print(f"  {problem}", flush=True)
        return
    for name, answer in found.items():
        if "error" in answer:
            timings[name].note = f"DuckDB: {answer['error'].splitlines()[0]}"
        else:
            timings[name].duckdb, timings[name].duckdb_files = answer["tables"], answer["files"]


def _penstock(
    spark: SparkSession,
    scale: float,
    contents: Mapping[str, pa.RecordBatch],
    chosen: Sequence[Query],
    shares: Sequence[float],
    repeats: int,
    timing: Timing,
    answers: Path,
) -> None:
    used = {name for name in contents if any(reads(query, name) for query in chosen)}
    held = [table for table in tables() if table.name in used]
    refresh = Refresh(tables(), contents, seed=1)
    with tempfile.TemporaryDirectory(prefix="penstock-tpch-") as storage:
        pipe = ps.Pipeline("tpch", storage=storage, workers=THREADS, spark=spark)
        pipe.sql(script(held, chosen))
        with pipe.run() as run:
            files = {table.name: pieces(scale, table.name, contents[table.name]) for table in held}
            started = time.perf_counter()
            for name in sorted(files, key=lambda name: contents[name].num_rows):  # what is looked up first
                for path in files[name]:
                    run.load(name, path)
                    run.step()
            run.settle()
            run.commit()
            timing.load = time.perf_counter() - started
            _compare_first(run, chosen, answers, timing)
            _clear_away(run)
            for share in shares:
                times = timing.refresh.setdefault(share, [])
                for number in range(repeats + 2):
                    took = _refreshed(run, refresh.orders_only(share), used)
                    if number > 1:
                        times.append(took)
            _verify(run, [query.name for query in chosen], timing)
            run.kill()


def _clear_away(run: ps.Run) -> None:
    """A load leaves gigabytes in files that only the version before its last one needs. Where a file system
    tells its disk what was deleted (``discard``), syncs wait for that, up to 100 ms each: it is the load's
    work, so it is done before the first refresh."""
    run.commit()
    os.sync()
    time.sleep(_DISCARDING_S)


def _verify(run: ps.Run, views: Sequence[str], timing: Timing) -> None:
    """Compares the views, as they are after all refreshes, with Spark."""
    timing.answers += len(views)
    try:
        reports = run.verify()
    except Exception as error:  # Spark's own failure must not cost what was measured
        timing.wrong += [f"{view} not compared with Spark: {type(error).__name__}" for view in views]
    else:
        timing.wrong += [f"{report.view} differs from Spark's answer" for report in reports if not report]


def _refreshed(run: ps.Run, step: Step, used: set[str]) -> float:
    started = time.perf_counter()
    for change in step:
        if change.table in used:
            getattr(run, change.operation)(change.table, change.rows)
    run.step()
    return time.perf_counter() - started


def _compare_first(run: ps.Run, chosen: Sequence[Query], answers: Path, timing: Timing) -> None:
    for query in chosen:
        path = answers / f"{query.name}.parquet"
        if path.exists():
            ours, theirs = run.read(query.name), pq.read_table(path)
            theirs = theirs.rename_columns(ours.schema.names).cast(ours.schema)
            timing.answers += 1
            if (found := difference(ours, theirs)) is not None:
                timing.wrong.append(f"{query.name} differs from DuckDB's answer: {found}")


def results(
    scale: float, shares: Sequence[float], timings: Mapping[str, Timing], together: Timing
) -> list[Result]:
    """The goals, from what each view took alone and all took together."""
    judged = 0.001 if 0.001 in shares else shares[0]
    rows = [_row(name, timing, shares, judged) for name, timing in timings.items()]
    title = f"TPC-H scale {scale:g}, each view alone, refresh of {judged:.2%} of the orders with their lines"
    over_spark = [float(str(row["x Spark"])) for row in rows]
    notes = [f"{name}: {timing.note.strip()}" for name, timing in timings.items() if timing.note]
    notes.append("q02, q11 and q16 read neither orders nor lines: a refresh is an empty step for them")
    found = [
        Result("tpch", title, geometric_mean(over_spark), GOALS["spark"], "x Spark", rows, True, notes),
        Result("tpch-slowest", title, min(over_spark), GOALS["slowest"], "x Spark", rows, True, notes),
    ]
    for name, column in (("tpch-duckdb-files", "x DuckDB (files)"), ("tpch-duckdb", "x DuckDB (memory)")):
        over = [float(str(row[column])) for row in rows if row[column] != "-"]
        if over:
            found.append(
                Result(name, title, geometric_mean(over), GOALS["duckdb"], column, rows, at_least=True)
            )
    if together.refresh:
        found.append(_load(scale, shares, judged, together))
    every = [*timings.values(), together]
    wrong = [text for timing in every for text in timing.wrong]
    found.append(agreement("tpch-answers", sum(timing.answers for timing in every), wrong))
    return found


def _load(scale: float, shares: Sequence[float], judged: float, together: Timing) -> Result:
    title = (
        f"TPC-H scale {scale:g}, all views in one pipeline: its load, and Spark computing all answers once"
    )
    rows = [_row("all in one", together, shares, judged)]
    notes = [together.note.strip()] if together.note else []
    figure = together.load / median(together.spark)
    return Result("tpch-load", title, figure, GOALS["load"], "x Spark", rows, notes=notes)


def _row(name: str, timing: Timing, shares: Sequence[float], judged: float) -> dict[str, object]:
    ours = median(timing.refresh[judged])
    row: dict[str, object] = {"view": name, "load s": timing.load}
    row |= {f"{share:.2%} ms": median(timing.refresh[share]) * 1e3 for share in shares}
    row["min ms"], row["max ms"] = (f(timing.refresh[judged]) * 1e3 for f in (min, max))
    row["Spark ms"] = median(timing.spark) * 1e3
    row["x Spark"] = median(timing.spark) / ours
    for where, found in (("files", timing.duckdb_files), ("memory", timing.duckdb)):
        row[f"DuckDB ms ({where})"] = median(found) * 1e3 if found else timing.note or "-"
        row[f"x DuckDB ({where})"] = median(found) / ours if found else "-"
    return row
