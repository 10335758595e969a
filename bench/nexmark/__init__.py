"""Nexmark: an auction house's people, auctions and bids; 23 queries about them as views of one pipeline."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.check import Subject, add_check_arguments, check_as_asked, session
from bench.nexmark.generator import Columns, Events, side_input
from bench.report import Result
from penstock.oracle import Change, Query, Step, read_tables
from penstock.pipeline.tables import TableSchema

__all__ = ["NOTES", "add_arguments", "queries", "run", "stream", "tables"]

_HERE = Path(__file__).parent
NOTES = (
    "q12 asks for processing time, an ever-changing clock: here it counts by event time",
    "q13 asks for a lookup outside: here its side input is a table like any other",
)


def tables() -> list[TableSchema]:
    """The three streams, append-only, and the side input."""
    return read_tables((_HERE / "tables.sql").read_text(encoding="utf-8"))


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    add_check_arguments(parser)
    parser.add_argument("--events", type=int, default=20_000, help="events in all (default 20,000)")


def run(arguments: argparse.Namespace) -> Result:
    """Checks all views."""
    spark = session(arguments)
    subject = Subject(
        "nexmark",
        f"Nexmark, {arguments.events:,} events: 23 views of one pipeline against batch Spark after each of "
        f"{arguments.steps} steps",
        tables(),
        queries(),
        stream(arguments.events, arguments.steps, arguments.seed),
        NOTES,
    )
    return check_as_asked(spark, subject, arguments)
