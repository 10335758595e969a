"""Nexmark's tables and queries, and its events as a stream of steps."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.nexmark.generator import Columns, Events, side_input
from penstock.oracle import Change, Query, Step, read_tables
from penstock.pipeline.tables import TableSchema

__all__ = ["columns", "queries", "stream", "tables"]

_HERE = Path(__file__).parent


def tables() -> list[TableSchema]:
    """The three streams, append-only, and the side input."""
    return read_tables((_HERE / "tables.sql").read_text(encoding="utf-8"))


def columns(query: str) -> dict[str, dict[str, str]]:
    """The tables that a query reads, each with the SQL types of its columns.

    Found in the text alone, as the process that measures others starts no Spark.
    """
    text = next(each.sql for each in queries() if each.name == query)
    read = set(re.findall(r"(?:FROM|JOIN)\s+(\w+)", text))  # a name alone may be a column's
    script = (_HERE / "tables.sql").read_text(encoding="utf-8")
    return {
        name: dict(re.findall(r"^  (\w+) (\w+) NOT NULL", body, re.MULTILINE))
        for name, body in re.findall(r"CREATE TABLE (\w+) \((.*?)^\)", script, re.DOTALL | re.MULTILINE)
        if name in read
    }


def queries() -> list[Query]:
    """The queries q00 to q22. Averages are of whole numbers, so none is approximate."""
    return [
        Query(path.stem, path.read_text(encoding="utf-8").rstrip(), ())
        for path in sorted((_HERE / "queries").glob("*.sql"))
    ]


def stream(events: int, steps: int, seed: int) -> list[Step]:
    """The side input, then all events in ``steps`` parts of equal size."""
    made, known = Events(seed), {table.name: table for table in tables()}
    bounds = np.linspace(0, events, steps + 1).astype(int)
    told: list[Step] = [(_inserted(known["side_input"], side_input()),)]
    for start, stop in pairwise(bounds):
        rows = made.tables(int(start), int(stop))
        told.append(tuple(_inserted(known[name], columns) for name, columns in rows.items()))
    return told


def _inserted(table: TableSchema, columns: Columns) -> Change:
    arrays = [columns[field.name].cast(field.type) for field in table.arrow_schema]
    return Change(table.name, "insert", pa.RecordBatch.from_arrays(arrays, schema=table.arrow_schema))
