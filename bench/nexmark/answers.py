"""A peer's final answer, from whatever it wrote, and whether it is ours.

What a peer writes is a table of rows with weights: all rows of a stream that only grows, the newest row of
each key where a stream updates, rows that come and go where it is a log of changes. Values are brought to
the types of our view first; what a peer computes as floating-point numbers for want of decimals is rounded
to our scale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.oracle import difference

__all__ = ["EQUAL", "Answer", "compared", "from_batches", "from_debezium", "from_diffs"]

EQUAL = "equal"
_HELD_BACK_US = 60_000_000
Answer = tuple[pa.Table, NDArray[np.int64]]


def compared(ours: pa.Table, theirs: Answer, *, held_back: str | None = None) -> str:
    """``equal`` or what differs. A peer that keeps the newest windows back until time has moved on names the
    column of their times: rows of the last minute by it are left out of the comparison."""
    rows, weights = theirs
    note = EQUAL
    if held_back is not None and len(ours):
        newest = pc.max(ours[held_back]).cast(pa.int64()).as_py() - _HELD_BACK_US
        kept = pc.less(rows[held_back].cast(pa.int64()), newest)
        rows, weights = rows.filter(kept), weights[kept.to_numpy()]
        ours = ours.filter(pc.less(ours[held_back].cast(pa.int64()), newest))
        note = f"{EQUAL} but for the last minute, still held back"
    doubles = [field.name for field in ours.schema if pa.types.is_floating(field.type)]
    found = difference(rows, ours, approx=doubles, actual_weights=weights)
    return note if found is None else f"DIFFERS: {str(found)[:400]}"


def from_batches(folder: Path, schema: pa.Schema, keys: Sequence[str]) -> Answer:
    """Parquet files whose column ``_batch`` counts the batches; of rows of equal keys the last one counts."""
    files = sorted(folder.glob("*.parquet"))
    table = pa.concat_tables([pq.read_table(path) for path in files]) if files else None
    if table is None:
        return schema.empty_table(), np.zeros(0, np.int64)
    if keys:
        newest = table.group_by(list(keys)).aggregate([("_batch", "max")])
        table = table.join(newest.rename_columns([*keys, "_batch"]), [*keys, "_batch"], join_type="inner")
    names = [name for name in table.schema.names if name != "_batch"]
    fitted = {field.name: _fitted(table[name], field.type) for name, field in zip(names, schema, strict=True)}
    return pa.table(fitted, schema=schema), np.ones(len(table), np.int64)


def from_debezium(folder: Path, schema: pa.Schema, key: str | None = None) -> Answer:
    """Files of JSON lines ``{"before": row, "after": row, "op": "c" or "d"}``; with ``key`` a row that comes
    takes the place of the one with the same key, all of whose changes are in one file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    lines = [line for path in files for line in _lines(path)]
    if key is not None:
        rows = list({line["after"][key]: line["after"] for line in lines if line["op"] == "c"}.values())
        return _table(rows, schema), np.ones(len(rows), np.int64)
    rows = [line["after"] if line["op"] == "c" else line["before"] for line in lines]
    return _table(rows, schema), np.array([1 if line["op"] == "c" else -1 for line in lines], np.int64)


def from_diffs(path: Path, schema: pa.Schema) -> Answer:
    """A file of JSON lines: rows with their ``diff`` (1 or -1) and ``time``."""
    rows = list(_lines(path))
    weights = np.array([row.pop("diff") for row in rows], np.int64)
    for row in rows:
        del row["time"]
    return _table(rows, schema), weights


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line, parse_float=Decimal)


def _names(theirs: Sequence[str], schema: pa.Schema) -> dict[str, str]:
    """Their name of each of our columns: the same, or, as some words are reserved, the next that is left."""
    left = iter([name for name in theirs if name not in schema.names])
    return {name: name if name in theirs else next(left) for name in schema.names}


def _table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    names = _names(list(rows[0]) if rows else schema.names, schema)
    columns = {
        field.name: _fitted(_column([row[names[field.name]] for row in rows]), field.type) for field in schema
    }
    return pa.table(columns, schema=schema)


def _column(values: list[Any]) -> pa.ChunkedArray:
    if any(isinstance(value, Decimal) for value in values):
        return pa.chunked_array([pa.array([float(value) for value in values], pa.float64())])
    return pa.chunked_array([pa.array(values)])


def _fitted(values: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Values as the type of our view; a double has digits enough for all decimals of prices."""
    if values.type == wanted:
        return values
    if pa.types.is_decimal(wanted) and not pa.types.is_decimal(values.type):
        scaled = pc.round(pc.multiply(values.cast(pa.float64()), 10.0**wanted.scale)).cast(pa.int64())
        unit = pa.scalar(Decimal(1).scaleb(-wanted.scale), pa.decimal128(wanted.scale + 1, wanted.scale))
        return pc.multiply(scaled.cast(pa.decimal128(19)), unit).cast(wanted)
    if pa.types.is_timestamp(wanted) and pa.types.is_string(values.type):
        return values.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(wanted)
    return values.cast(wanted)
