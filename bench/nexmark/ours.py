"""Penstock's side of the measurement: one view in a pipeline of its own, fed from Parquet files.

``python -m bench.nexmark.ours`` reads a request from standard input: ``{"query": name, "tables": {name:
[files]}, "workers": n, "answer": file or null}``; prints ``{"seconds": time from the first file to the last
commit, "steps": [seconds of each]}``. Each step takes one file of each table. The side input is loaded
before the clock starts. Tables and the view let their rows go and only the last step's changes are kept, as
streams and sinks of the other systems do; where an answer is asked for, the view is kept instead.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pyarrow.parquet as pq

import penstock as ps
from bench.nexmark.data import queries, tables
from penstock.oracle.drive import script
from penstock.spark import find_or_make_session

__all__ = ["COMMIT_INTERVAL_S", "measured"]

COMMIT_INTERVAL_S = 10.0


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    try:
        found = measured(request)
    except Exception as problem:  # whatever it is, it belongs into the table
        found = {"error": f"{type(problem).__name__}: {problem}"}
    print(json.dumps(found), flush=True)


def measured(request: Mapping[str, Any]) -> dict[str, Any]:
    """Runs the view over all files."""
    spark, _ = find_or_make_session("bench", request["workers"])
    query = next(query for query in queries() if query.name == request["query"])
    files: dict[str, Sequence[str]] = dict(request["tables"])
    passing = [replace(table, keeps_rows=not table.append_only) for table in tables() if table.name in files]
    keeps_rows = request["answer"] is not None
    with tempfile.TemporaryDirectory(prefix="penstock-nexmark-") as storage:
        pipe = ps.Pipeline(
            "nexmark",
            storage=storage,
            workers=request["workers"],
            spark=spark,
            retained_steps=1,
            commit_interval_s=COMMIT_INTERVAL_S,
        )
        pipe.sql(script(passing, [query], keeps_rows=keeps_rows))
        with pipe.run() as run:
            for path in files.pop("side_input", ()):
                run.load("side_input", path)
            run.step()
            times = _fed(run, files)
            if keeps_rows:
                pq.write_table(run.read(query.name), request["answer"])
            run.kill()
    return {"seconds": sum(times), "steps": times}


def _fed(run: ps.Run, files: Mapping[str, Sequence[str]]) -> list[float]:
    times = []
    for group in zip_longest(*files.values()):
        started = time.perf_counter()
        for table, path in zip(files, group, strict=True):
            if path is not None:
                run.load(table, path)
        run.step()
        times.append(time.perf_counter() - started)
    started = time.perf_counter()
    run.commit()
    times[-1] += time.perf_counter() - started
    return times


if __name__ == "__main__":
    main()
