"""What TPC-H starts from: tables, queries, and rows of a given scale.

Rows come from ``tpcgen-cli`` (``pip install 'penstock[bench]'``), as Parquet files that are kept under
``artifacts/`` and made only once per scale; or, for tests that may need nothing but Penstock, from
:mod:`bench.tpch.rows` in a size of a few hundred rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.tpch import rows
from penstock.oracle import Query, read_tables
from penstock.pipeline.tables import TableSchema

__all__ = ["PIECE", "as_batch", "folder_of", "generated", "pieces", "queries", "small", "tables"]

PIECE = 1_500_000
"""Rows that are loaded in one step, so that what a step holds of all views at once fits into memory."""

_ROW_GROUPS = 8
_HERE = Path(__file__).parent
_CACHE = _HERE.parent.parent / "artifacts" / "tpch"


def tables() -> list[TableSchema]:
    """The eight tables."""
    return read_tables((_HERE / "tables.sql").read_text(encoding="utf-8"))


def queries(scale: float) -> list[Query]:
    """The 22 queries. The fraction of query 11 depends on the scale (clause 2.4.11.3)."""
    fraction = Decimal("0.0001") / Decimal(str(scale))
    return [
        Query(path.stem, path.read_text(encoding="utf-8").replace(":fraction", f"{fraction:f}"), ())
        for path in sorted((_HERE / "queries").glob("*.sql"))
    ]


def as_batch(table: TableSchema, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Columns in the table's order and with its types."""
    arrays = [columns[field.name].cast(field.type) for field in table.arrow_schema]
    return pa.RecordBatch.from_arrays(arrays, schema=table.arrow_schema)


def folder_of(scale: float) -> Path:
    """Where the tables of a scale lie as Parquet files, once they have been made."""
    return _CACHE / f"{scale:g}"


def generated(scale: float) -> dict[str, pa.RecordBatch]:
    """The tables at a scale, from the cache or made now."""
    folder = folder_of(scale)
    if not folder.exists():
        _generate(scale, folder)
    batches = {}
    for table in tables():
        held = pq.read_table(folder / f"{table.name}.parquet").combine_chunks()
        columns = {name: held[name].combine_chunks() for name in held.schema.names}
        batches[table.name] = as_batch(table, columns)
    return batches


def pieces(scale: float, name: str, rows: pa.RecordBatch) -> list[Path]:
    """The files of a table, none with more than :data:`PIECE` rows; made on first use."""
    whole = folder_of(scale) / f"{name}.parquet"
    if rows.num_rows <= PIECE:
        return [whole]
    folder = folder_of(scale) / f"{name} in pieces of {PIECE}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            made = Path(unfinished) / "made"
            made.mkdir()
            for start in range(0, rows.num_rows, PIECE):
                piece = pa.Table.from_batches([rows.slice(start, PIECE)])
                path = made / f"{start:010d}.parquet"
                pq.write_table(piece, path, row_group_size=PIECE // _ROW_GROUPS)
            made.rename(folder)
    return sorted(folder.iterdir())


def _generate(scale: float, folder: Path) -> None:
    """Runs the generator beside this Python; the folder appears only when it is complete."""
    program = Path(sys.executable).parent / "tpcgen-cli"
    if not program.exists():
        raise SystemExit(
            "TPC-H data needs tpcgen-cli, which is not installed: python -m pip install -e '.[bench]'"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        made = Path(unfinished) / "made"
        command = [program, "tpch", "parquet", "-s", f"{scale:g}", "-o", made]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        made.rename(folder)


def small(seed: int, *, orders: int = 300) -> dict[str, pa.RecordBatch]:
    """A few hundred rows that all 22 queries find something in."""
    rng = np.random.default_rng(seed)
    suppliers, customers, parts = (np.arange(1, count + 1) for count in (20, 60, 80))
    offered = np.repeat(parts, 4)
    offering = (offered + np.tile(np.arange(4) * 5, len(parts))) % len(suppliers) + 1
    keys = np.arange(1, orders + 1) * 4
    order_rows, line_rows = rows.orders(
        rng, keys, rows.line_counts(rng, orders), customers, (offered, offering)
    )
    columns = {
        "region": rows.regions(),
        "nation": rows.nations(),
        "supplier": rows.suppliers(rng, suppliers),
        "customer": rows.customers(rng, customers),
        "part": rows.parts(rng, parts),
        "partsupp": rows.partsupps(rng, offered, offering),
        "orders": order_rows,
        "lineitem": line_rows,
    }
    return {table.name: as_batch(table, columns[table.name]) for table in tables()}
