"""How large is the state, in memory and on disk, compared with the rows themselves?

A pipeline with one keyed table (TPC-H's lineitem) and one view of it (query 1's grouped sums), filled in
steps. Everything that it keeps is counted, arrangement by arrangement: in memory against the same table and
view as plain Arrow, on disk (all files of the storage) against zstd Parquet. On disk state is as in memory,
to be mapped; a second pipeline with ``compact`` storage is the one judged there. A third, orders joined with
their lines, shows what the indexes of a join add; it is not judged, because a table that a join looks up by
another column is kept twice by nature.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock as ps
from bench.processes import workers_private_bytes
from bench.report import Result
from bench.sketch import Mark, Stack, Stacks
from bench.tpch.data import generated, queries, tables
from penstock.circuit.circuit import Node
from penstock.circuit.program import Program
from penstock.oracle import Query
from penstock.oracle.drive import script
from penstock.oracle.fixtures import reads
from penstock.spark import find_or_make_session
from penstock.storage import Segment, Version, newest_version, open_backend, read_metrics

__all__ = ["MINUTES", "Sizes", "add_arguments", "measure", "results", "run"]

MINUTES = 2.0
GOALS = {"memory": 1.5, "disk": 1.2}
CHUNK = 100_000
FIRST = 100
LAST_VERSIONS = 3
MB = 1e6
JOINED = """
SELECT o_orderpriority, l_shipmode, count(*) AS lines, sum(l_extendedprice) AS price
FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY o_orderpriority, l_shipmode
"""
NOTES = (
    "plain: the table and the view's rows as Arrow tables (nbytes), and as Parquet files with zstd",
    "in memory: the arrangements, each with its key hashes, weights and values",
    "compact: with Pipeline(..., compact=True), which compresses large batches; the goal on disk is for this",
    "on disk: all files of the storage after a commit. An arrangement counts with what the newest version "
    "refers to; the rest is retained changes of the view, the log, manifests and the previous version",
    f"the workers' private memory is an independent measure, counted from the first {FIRST} rows of each "
    "table: it includes freed memory that their allocators keep, and exchange buffers",
)


@dataclass(frozen=True)
class Sizes:
    """Bytes. ``memory`` and ``disk`` by arrangement; ``rest`` is what else lies on disk; ``grown`` is how
    much private memory the workers took (None where the system does not tell)."""

    rows: int
    arrow: int
    parquet: int
    memory: Mapping[str, int]
    disk: Mapping[str, int]
    rest: int
    grown: int | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor (default 0.1)")


def run(arguments: argparse.Namespace) -> list[Result]:
    """Both pipelines."""
    spark, _ = find_or_make_session("memory", 2)
    contents = generated(arguments.scale)
    first, joined = views()
    found = {
        first.name: measure(spark, contents, first),
        f"{first.name}, compact": measure(spark, contents, first, compact=True),
        joined.name: measure(spark, contents, joined),
    }
    return results(f"State of TPC-H tables, scale {arguments.scale:g}", found)


def views() -> list[Query]:
    """The judged one first."""
    [first] = [query for query in queries(1) if query.name == "q01"]
    return [first, Query("joined", JOINED, ())]


def measure(
    spark: SparkSession,
    contents: Mapping[str, pa.RecordBatch],
    view: Query,
    chunk: int = CHUNK,
    *,
    compact: bool = False,
) -> Sizes:
    """Fills a pipeline with the view and its tables, and looks at what it keeps."""
    held = [table for table in tables() if reads(view, table.name)]
    with tempfile.TemporaryDirectory(prefix="penstock-memory-") as name:
        folder = Path(name)
        pipe = ps.Pipeline("memory", storage=folder / "state", workers=2, spark=spark, compact=compact)
        pipe.sql(script(held, [view]))
        with pipe.run() as run:
            for table in held:  # a few rows first, for which the workers load all the code they need
                run.insert(table.name, contents[table.name].slice(0, FIRST))
            run.step()
            before = workers_private_bytes()
            for table in held:
                rows = contents[table.name].slice(FIRST)
                for start in range(0, rows.num_rows, chunk):
                    run.insert(table.name, rows.slice(start, chunk))
                    run.step()
            # A few more versions with small steps: neither of the last two versions names what only the load
            # needed (its log, batches that were merged).
            run.settle()
            run.commit()
            for _ in range(LAST_VERSIONS):
                run.upsert(held[0].name, contents[held[0].name].slice(0, 1))
                run.step()
                run.commit()
            after = workers_private_bytes()
            plain = [*(pa.Table.from_batches([contents[t.name]]) for t in held), run.read(view.name)]
            memory, disk, rest = _kept(pipe.program(), folder / "state")
            run.kill()
        return Sizes(
            rows=sum(table.num_rows for table in plain),
            arrow=sum(table.nbytes for table in plain),
            parquet=sum(_parquet_bytes(table, folder / "plain.parquet") for table in plain),
            memory=memory,
            disk=disk,
            rest=rest,
            grown=None if before is None or after is None else after - before,
        )


def _parquet_bytes(table: pa.Table, path: Path) -> int:
    pq.write_table(table, path, compression="zstd")
    return path.stat().st_size


def _kept(program: Program, storage: Path) -> tuple[dict[str, int], dict[str, int], int]:
    """Bytes of each arrangement in memory and on disk, and of all other files."""
    backend = open_backend(str(storage))
    version, metrics = newest_version(backend), read_metrics(backend)
    assert version is not None and metrics is not None
    memory: dict[str, int] = {}
    for counted in metrics["operators"]:
        if counted["state_bytes"]:
            title = _title(program.circuit.nodes[counted["id"]])
            memory[title] = memory.get(title, 0) + counted["state_bytes"]
    disk = _on_disk(program, version, storage)
    files = sum(path.stat().st_size for path in storage.rglob("*") if path.is_file())
    return memory, disk, files - sum(disk.values())


def _on_disk(program: Program, version: Version, storage: Path) -> dict[str, int]:
    """Bytes that the version needs, by operator. A block that is needed in part counts in part."""
    backend = open_backend(str(storage))
    found: dict[str, int] = {}
    for slot, refs in version.arrangements.items():
        title = _title(program.slots[slot])
        for ref in refs:
            entry = Segment.open(backend, ref.segment).entries[ref.entry]
            rows = int(str(entry.meta.get("rows", entry.rows)))
            share = ref.rows / rows if rows else 1.0
            found[title] = found.get(title, 0) + round(entry.length * share)
    return found


def _title(node: Node) -> str:
    """What people call an arrangement; one that says nothing of itself is told by its columns."""
    operator = node.operator
    return _cut(f"{operator.info.name} {operator.describe() or ', '.join(operator.schema.names)}", 60)


def results(what: str, found: Mapping[str, Sizes]) -> list[Result]:
    """Judged by the first pipeline in memory, by the second one on disk."""
    judged, compact = list(found.values())[:2]
    figures = {
        "memory": sum(judged.memory.values()) / judged.arrow,
        "disk": (sum(compact.disk.values()) + compact.rest) / compact.parquet,
    }
    units = {"memory": "x Arrow", "disk": "x Parquet"}
    rows = [row for view, sizes in found.items() for row in _rows(view, sizes)]
    return [
        Result(
            f"memory-{kind}" if kind == "disk" else "memory",
            what,
            figures[kind],
            goal,
            units[kind],
            rows,
            notes=NOTES,
            sketch=_sketch(what, judged, compact),
        )
        for kind, goal in GOALS.items()
    ]


def _rows(view: str, sizes: Sizes) -> Sequence[Mapping[str, object]]:
    def row(part: str, memory: int | None, disk: int | None) -> dict[str, object]:
        shown = {"in memory": memory, "on disk": disk}
        plain = {"in memory": sizes.arrow, "on disk": sizes.parquet}
        cells: dict[str, object] = {"pipeline": view, "part": part}
        for where, size in shown.items():
            cells[f"MB {where}"] = "" if size is None else size / MB
            cells[f"bytes a row {where}"] = "" if size is None else size / sizes.rows
            cells[f"x plain {where}"] = "" if size is None else size / plain[where]
        return cells

    titles = dict.fromkeys([*sizes.memory, *sizes.disk])
    return [
        row("plain (Arrow; Parquet)", sizes.arrow, sizes.parquet),
        *(row(title, sizes.memory.get(title), sizes.disk.get(title)) for title in titles),
        row("other files", None, sizes.rest),
        row("all", sum(sizes.memory.values()), sum(sizes.disk.values()) + sizes.rest),
        row("growth of the workers' private memory", sizes.grown, None),
    ]


def _sketch(what: str, sizes: Sizes, compact: Sizes) -> Stacks:
    def parts(counted: Mapping[str, int]) -> dict[str, float]:
        return {_cut(title, 40): size / MB for title, size in counted.items()}

    return Stacks(
        f"{what}: one keyed table and one view",
        "MB",
        [
            Stack("plain Arrow", {"rows": sizes.arrow / MB}),
            Stack("state in memory", parts(sizes.memory)),
            Stack("zstd Parquet", {"rows": sizes.parquet / MB}),
            Stack("state on disk", {**parts(sizes.disk), "other files": sizes.rest / MB}),
            Stack("on disk, compact", {**parts(compact.disk), "other files": compact.rest / MB}),
        ],
        [
            Mark(GOALS["memory"] * sizes.arrow / MB, "goal in memory"),
            Mark(GOALS["disk"] * sizes.parquet / MB, "goal on disk"),
        ],
    )


def _cut(title: str, length: int) -> str:
    return title if len(title) <= length else title[: length - 1] + "…"
