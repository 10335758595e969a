"""How quick is a batch on file, beside one in memory and beside RocksDB and LMDB with the same rows?

Ten million rows, each with a key, two numbers and a text. Every store is asked the same: one key, 10,000
random keys at once, all rows in order, and to take in a tenth of new rows (ours merges two batches, the
others write into what they have). Keys are the same 8 bytes everywhere; RocksDB and LMDB store the rest of
the row as one packed value, as anybody would who used them under a table, and unpack it into columns with
NumPy.

*Cold* means that the file was dropped from the system's cache and nothing is in the pool.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping

from bench.report import Result
from bench.sketch import Bar, Bars
from bench.storage.rows import Figures

__all__ = ["MINUTES", "add_arguments", "results", "run"]

MINUTES = 8.0
ROWS = 10_000_000
GOAL_MAPPED = 1.3
GOAL_ROCKSDB = 5.0
NOTES = (
    "lookup: keys to columns of all their values; the median of repeated lookups of other keys each time",
    "blocks: mapped and plain, as indexes are stored; packed blocks: as tables are, unpacked into the pool; "
    "direct: plain blocks read past the system's cache into the pool",
    "merge: a tenth of new rows merged into the ten million, rows written a second",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of every store (default {ROWS:,})")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All stores, one after the other, with the same rows."""
    command = [sys.executable, "-m", "bench.storage.job", str(arguments.rows)]
    environment = {**os.environ, "NUMPY_MADVISE_HUGEPAGE": "0"}
    found: dict[str, Figures] = {}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        for line in job.stdout:
            told = json.loads(line)
            store = told.pop("store")
            found[store] = Figures(**told)
            print(f"  {store}: {found[store].lookup_many_ms:.1f} ms for 10,000 keys", flush=True)
    if job.returncode:
        raise SystemExit(f"the measurement ended with exit code {job.returncode}")
    return results(found)


def results(found: Mapping[str, Figures]) -> list[Result]:
    """Warm blocks beside memory, and lookups beside RocksDB."""
    rows = [{"store": store, **figures.row()} for store, figures in found.items()]
    what = "10 million rows: lookups, scans, merges and size"
    mapped = found["blocks, warm"].lookup_many_ms / found["in memory"].lookup_many_ms
    peer = found["RocksDB"].lookup_many_ms / found["blocks, warm"].lookup_many_ms
    bars = [Bar(store, figures.lookup_many_ms) for store, figures in found.items()]
    picture = Bars("Lookup of 10,000 random keys among 10 million", "ms", bars, log=True)
    return [
        Result("storage-warm", what, mapped, GOAL_MAPPED, "x in memory", rows, notes=NOTES, sketch=picture),
        Result("storage-rocksdb", what, peer, GOAL_ROCKSDB, "x as fast as RocksDB", rows, at_least=True),
    ]
