"""A driver on a cluster of two executor processes: runs both ways, prints what it saw, and dies unasked.

Run by test_cluster.py as ``python -m tests.spark.cluster_driver FOLDER``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.spark import ResidentRuntime, StagedRuntime
from tests.spark import toy
from tests.spark.toy import numbers, opening_of, rows

ROUNDS = ([1, 2, 3, 11], [3, 4, 25])


def ancestors(process: int) -> Iterator[int]:
    """A process and those that started it, up to (not including) init and this one."""
    while process not in (0, 1, os.getpid()):
        yield process
        status = Path(f"/proc/{process}/status").read_text()
        process = int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])


def main(folder: Path) -> None:
    cloudpickle.register_pickle_by_value(toy)
    spark = (
        SparkSession.builder.master("local-cluster[2,2,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(folder))
        .config("spark.executor.memory", "1g")
        .getOrCreate()
    )
    crew = toy.toy_crew(folder, 2)
    resident, staged = ResidentRuntime(spark, crew), StagedRuntime(spark, crew, tiny_bytes=0)
    stored = opening_of([])
    resident.open(stored)
    staged.open(stored)
    for step, values in enumerate(ROUNDS, start=1):
        inputs = [numbers(values, 0), numbers(values[::-1], 1)]
        reports = resident.step(step, inputs)
        resident.accept()
        staged.step(step, inputs)
        staged.accept()
        stored = opening_of(staged.commit(step), stored, step)
        staged.committed(stored)
    seen = {
        "resident": rows(resident.read("totals")),
        "staged": rows(staged.read("totals")),
        "workers": [report["process"] for report in reports],
        "processes": sorted({p for report in reports for p in ancestors(report["process"])}),
    }
    print(json.dumps(seen), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
