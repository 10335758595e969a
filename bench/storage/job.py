"""``python -m bench.storage.job ROWS``: measures all stores and prints a line of JSON for each.

A process of its own, because NumPy decides when it is imported whether it uses large pages of memory, and
workers do not (decision 39)."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.storage.ours import measure_ours
from bench.storage.peers import measure_lmdb, measure_rocksdb
from bench.storage.rows import Figures, Rows


def _tell(store: str, figures: Figures) -> None:
    print(json.dumps({"store": store, **asdict(figures)}), flush=True)


def main() -> None:
    rows = Rows.random(int(sys.argv[1]))
    with tempfile.TemporaryDirectory(prefix="penstock-storage-") as name:
        folder = Path(name)
        for store, figures in measure_ours(rows, folder):
            _tell(store, figures)
        _tell("RocksDB", measure_rocksdb(rows, folder / "RocksDB"))
        _tell("LMDB", measure_lmdb(rows, folder / "LMDB"))


if __name__ == "__main__":
    main()
