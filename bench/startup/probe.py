"""One start of a pipeline, timed part by part: run in a process of its own by :mod:`bench.startup`.

``python -m bench.startup.probe start STORAGE TIME`` opens the pipeline in STORAGE, an empty one if there is
none, makes two steps, and prints the seconds of each part; TIME is when the process was asked for. With
``make STORAGE MB`` it makes a state of about that size.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark import find_or_make_session, resident
from penstock.spark.gang import Gang
from penstock.storage import open_backend, read_metrics

SCRIPT = """
CREATE TABLE customers (id BIGINT PRIMARY KEY, region INT);
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount DOUBLE);
CREATE MATERIALIZED VIEW revenue AS
  SELECT c.region, count(*) AS orders, sum(o.amount) AS total
  FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.region;
"""
WORKERS = 2
CUSTOMERS = 100_000
CHUNK = 500_000
CHANGED = 100


class Clock:
    """Seconds of parts that follow each other."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._since = time.perf_counter()

    def took(self, part: str) -> None:
        """The time since the last part belongs to this one."""
        now = time.perf_counter()
        self.parts[part], self._since = now - self._since, now


def start(storage: Path, spark: SparkSession | None = None) -> dict[str, float]:
    """Opens the pipeline and makes two steps; what was pushed is not committed."""
    clock = Clock()
    if spark is None:
        spark, _ = find_or_make_session("startup", WORKERS)
    clock.took("session")
    pipe = ps.Pipeline("startup", storage=storage, workers=WORKERS, spark=spark)
    pipe.sql(SCRIPT)
    clock.took("planning")
    with _gang_timed() as gang_s:
        run = pipe.run()
    clock.took("restore")
    clock.parts["workers"] = sum(gang_s)
    clock.parts["restore"] -= sum(gang_s)
    read, files = cached_bytes(storage)
    clock.took("looking")
    for part in ("first step", "second step"):
        run.upsert("orders", _orders(np.random.default_rng(5), np.arange(CHANGED)))
        run.step()
        clock.took(part)
    run.kill()
    order = ("session", "planning", "workers", "restore", "first step", "second step")
    return {**{part: clock.parts[part] for part in order}, "read": read, "files": files}


def cached_bytes(storage: Path) -> tuple[float, float]:
    """How much of the files of a folder is in the system's cache, and how large they are."""
    cached = whole = 0
    for path in storage.rglob("*.seg"):
        size = path.stat().st_size
        with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as mapping:
            address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
            pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
            ctypes.CDLL(None).mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages)
            cached += int(np.count_nonzero(np.frombuffer(pages, np.uint8) & 1)) * mmap.PAGESIZE
        whole += size
    return float(cached), float(whole)


@contextmanager
def _gang_timed() -> Iterator[list[float]]:
    """How long it takes until the workers are there, which is a part of what ``run`` does."""
    took: list[float] = []

    def timed(*arguments: object) -> Gang:
        started = time.perf_counter()
        gang = Gang(*arguments)  # type: ignore[arg-type]
        took.append(time.perf_counter() - started)
        return gang

    with patch.object(resident, "Gang", timed):
        yield took


def make(storage: Path, megabytes: float, spark: SparkSession | None = None, chunk: int = CHUNK) -> float:
    """A pipeline whose arrangements hold that much; returns how much they hold."""
    unfinished = storage.with_name(f"{storage.name}.unfinished")
    rng, size, held = np.random.default_rng(3), 0, 0.0
    pipe = ps.Pipeline("startup", storage=unfinished, workers=WORKERS, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        ids = np.arange(CUSTOMERS)
        run.upsert("customers", pa.table({"id": ids, "region": pa.array(ids % 1000, pa.int32())}))
        while held < megabytes:
            run.upsert("orders", _orders(rng, np.arange(size, size + chunk)))
            run.step()
            run.commit()
            size, held = size + chunk, _megabytes(unfinished)
    unfinished.rename(storage)
    return held


def _megabytes(storage: Path) -> float:
    metrics = read_metrics(open_backend(str(storage)))
    assert metrics is not None
    return float(sum(operator["state_bytes"] for operator in metrics["operators"]) / 1e6)


def _orders(rng: np.random.Generator, ids: np.ndarray) -> pa.Table:
    customers, amounts = rng.integers(0, CUSTOMERS, len(ids)), rng.gamma(2.0, 50.0, len(ids))
    return pa.table({"id": ids, "customer": customers, "amount": amounts})


def main(what: str, storage: str, number: str) -> None:
    """Answers one request."""
    if what == "make":
        Path(storage).parent.mkdir(parents=True, exist_ok=True)
        print(json.dumps({"megabytes": make(Path(storage), float(number))}))
        return
    imported = {"Python and imports": time.time() - float(number)}
    print(json.dumps(imported | start(Path(storage))))


if __name__ == "__main__":
    main(*sys.argv[1:])
