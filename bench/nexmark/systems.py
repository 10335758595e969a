"""The systems that are measured: how each is asked to run a query over files, and how its answer is read.

All get two threads and the same events. Each run is a process of its own. A system may have variants (where
state is kept, whether changes are gathered first): all are tried on the smaller input, the fastest goes on.
No peer writes checkpoints but Structured Streaming, which must, after every batch; Penstock does every ten
seconds and at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from bench.nexmark.answers import Answer, from_batches, from_debezium, from_diffs
from bench.nexmark.data import columns, queries
from bench.nexmark.files import Files
from bench.peers import PEERS, PeerMissingError
from bench.peers.watch import Watched, watch

__all__ = ["PEER_SYSTEMS", "THREADS", "Peer", "Penstock", "System"]

THREADS = 2
HEAP = "8g"  # of every peer that runs in a JVM
_SCRIPTS = Path(__file__).parent.parent / "peers"
_STATELESS = frozenset({"q00", "q01", "q02", "q10", "q14", "q21", "q22"})


class System(Protocol):
    """Something that runs queries."""

    name: str
    format: str

    def variants(self, query: str) -> Sequence[str]:
        """The ways of running a query that are worth trying."""

    def run(
        self, query: str, files: Files, variant: str, answer: Path | None, *, timeout_s: float
    ) -> Watched:
        """Runs a query; its seconds are in the answer. With ``answer``, writes the rows there."""


class Peer(System, Protocol):
    """A system that ours is compared with."""

    goal: float

    def read(self, query: str, answer: Path, schema: pa.Schema) -> Answer:
        """What was written by a run, as rows of ``schema`` with weights."""

    def held_back(self, query: str) -> str | None:
        """The column of times by which the newest rows are not to be expected in an answer."""


def _python(peer: str) -> Path:
    python = PEERS / peer / "bin" / "python"
    if not python.exists():
        raise PeerMissingError(f"{peer} is not installed: run make bench-peers")
    return python


class Penstock:
    """A view of its own pipeline, with two workers."""

    name, format = "Penstock", "parquet"

    def variants(self, query: str) -> Sequence[str]:
        return ("",)

    def run(
        self, query: str, files: Files, variant: str, answer: Path | None, *, timeout_s: float
    ) -> Watched:
        request = {
            "query": query,
            "tables": {name: [str(path) for path in files.of(name)] for name in columns(query)},
            "workers": THREADS,
            "answer": None if answer is None else str(answer),
        }
        return watch([sys.executable, "-m", "bench.nexmark.ours"], request, timeout_s=timeout_s)


class StructuredStreaming:
    """Spark's streams, one file of each table per trigger, state in memory or in RocksDB.

    The text of a query is ours unless there is another in ``bench/peers/spark``. Windows are joined and
    sessions closed in append mode, by a watermark; the newest then stay open.
    """

    name, format, goal = "Structured Streaming", "parquet", 10.0
    _UPDATES: Mapping[str, Sequence[str]] = {  # and the keys by which a newer row takes the place of an older
        "q04": ("category",),
        "q12": ("bidder", "starttime"),
        "q15": ("day",),
        "q16": ("channel", "day"),
        "q17": ("auction", "day"),
        "q18": ("auction", "bidder"),
    }
    _HELD_BACK: Mapping[str, str] = {
        "q05": "starttime",
        "q07": "date_time",
        "q08": "starttime",
        "q11": "last_bid",
    }
    _STORES: Mapping[str, str | None] = {
        "in memory": None,
        "RocksDB": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    }

    def variants(self, query: str) -> Sequence[str]:
        return ("",) if query in _STATELESS else tuple(self._STORES)

    def run(
        self, query: str, files: Files, variant: str, answer: Path | None, *, timeout_s: float
    ) -> Watched:
        own = _SCRIPTS / "spark" / f"{query}.sql"
        text = (
            own.read_text(encoding="utf-8")
            if own.exists()
            else next(q.sql for q in queries() if q.name == query)
        )
        read = columns(query)
        request = {
            "query": text,
            "tables": {
                name: {
                    "schema": ", ".join(f"{column} {kind}" for column, kind in found.items()),
                    "folder": str(files.folder_of(name)),
                    "stream": name != "side_input",
                }
                for name, found in read.items()
            },
            "mode": "update" if query in self._UPDATES else "append",
            "watermark": dict.fromkeys(read, "date_time") if query in self._HELD_BACK else {},
            "store": self._STORES.get(variant),
            "threads": THREADS,
            "heap": HEAP,
            "answer": None if answer is None else str(answer),
        }
        return watch([sys.executable, _SCRIPTS / "structured_streaming.py"], request, timeout_s=timeout_s)

    def read(self, query: str, answer: Path, schema: pa.Schema) -> Answer:
        return from_batches(answer, schema, self._UPDATES.get(query, ()))

    def held_back(self, query: str) -> str | None:
        return self._HELD_BACK.get(query)


class Flink:
    """Flink SQL in streaming mode: state on the heap or in RocksDB, with mini-batches or without.

    Files come in any order, so watermarks lag by more than the events span: no event is late, and windows
    fire when the input ends.
    """

    name, format, goal = "PyFlink", "parquet", 2.0
    _UPSERTS: Mapping[str, str] = {"q09": "id"}  # nothing is taken back: newer rows replace older
    _WINDOWED = frozenset({"q05", "q07", "q08", "q11", "q12"})

    def variants(self, query: str) -> Sequence[str]:
        stores = ("heap",) if query in _STATELESS else ("heap", "RocksDB")
        return [
            f"{store}{more}"
            for store in stores
            for more in (("", ", mini-batch") if len(stores) > 1 else ("",))
        ]

    def run(
        self, query: str, files: Files, variant: str, answer: Path | None, *, timeout_s: float
    ) -> Watched:
        request = {
            "tables": [
                self._declared(name, found, files.folder_of(name), windowed=query in self._WINDOWED)
                for name, found in columns(query).items()
            ],
            "query": (_SCRIPTS / "flink" / f"{query}.sql").read_text(encoding="utf-8"),
            "settings": self._settings(variant),
            "answer": None if answer is None else answer.as_uri(),
        }
        command = [_python("flink"), _SCRIPTS / "flink_sql.py"]
        return watch(command, request, timeout_s=timeout_s, JAVA_TOOL_OPTIONS=f"-Xmx{HEAP}")

    def read(self, query: str, answer: Path, schema: pa.Schema) -> Answer:
        return from_debezium(answer, schema, self._UPSERTS.get(query))

    def held_back(self, query: str) -> str | None:
        return None

    def _settings(self, variant: str) -> dict[str, str]:
        settings = {
            "parallelism.default": str(THREADS),
            "table.local-time-zone": "UTC",
            "state.backend.type": "rocksdb" if "RocksDB" in variant else "hashmap",
            "taskmanager.memory.managed.size": "1g",
            "pipeline.object-reuse": "true",
            "pipeline.jars": ";".join(path.as_uri() for path in (PEERS / "flink" / "jars").glob("*.jar")),
        }
        if "mini-batch" in variant:
            settings |= {
                "table.exec.mini-batch.enabled": "true",
                "table.exec.mini-batch.allow-latency": "1 s",
                "table.exec.mini-batch.size": "20000",
                "table.optimizer.distinct-agg.split.enabled": "true",
            }
        return settings

    @staticmethod
    def _declared(name: str, found: Mapping[str, str], folder: Path, *, windowed: bool) -> str:
        """The statement that makes a table known. Only whole milliseconds can be event times."""
        exact = {"TIMESTAMP": "TIMESTAMP(6)"}
        declared = [f"`{column}` {exact.get(kind, kind)}" for column, kind in found.items()]
        if windowed:
            declared = [
                line.replace("`date_time` TIMESTAMP(6)", "`date_time` TIMESTAMP(3)") for line in declared
            ]
            declared.append("WATERMARK FOR date_time AS date_time - INTERVAL '30' DAY")
        options = {
            "connector": "filesystem",
            "path": folder.as_uri(),
            "format": "parquet",
            "parquet.utc-timezone": "true",
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        return f"CREATE TABLE {name} ({', '.join(declared)}) WITH ({listed})"


class Pathway:
    """Pathway's Table API over CSV, which it reads in one go."""

    name, format, goal = "Pathway", "csv", 3.0

    def variants(self, query: str) -> Sequence[str]:
        return ("",)

    def run(
        self, query: str, files: Files, variant: str, answer: Path | None, *, timeout_s: float
    ) -> Watched:
        request: dict[str, Any] = {
            "query": query,
            "tables": {name: str(files.folder_of(name)) for name in columns(query)},
            "answer": None if answer is None else str(answer),
        }
        command = [_python("pathway"), _SCRIPTS / "pathway_tables.py"]
        return watch(command, request, timeout_s=timeout_s, PATHWAY_THREADS=str(THREADS))

    def read(self, query: str, answer: Path, schema: pa.Schema) -> Answer:
        return from_diffs(answer, schema)

    def held_back(self, query: str) -> str | None:
        return None


PEER_SYSTEMS: Mapping[str, Peer] = {
    "spark": StructuredStreaming(),
    "flink": Flink(),
    "pathway": Pathway(),
}
