"""Parquet files as input: workers read them, so the rows never pass through the driver.

The driver splits the row groups of a file among the workers and sends each its share as a message on the
table's file edge. Before level 0 every worker reads its share, hashes the keys and sends each row to the
worker that owns it, just as if the rows had been pushed.

A share names the file's size and time of change as they were when the step was made. A replay that finds
another file stops: the step's input would not be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.circuit.delta import Delta
from penstock.errors import InputError, StorageError
from penstock.zset import HashSeed, ZSet, hash_columns

__all__ = ["FileShare", "shares_of"]


@dataclass(frozen=True)
class FileShare:
    """Some row groups of a Parquet file, to be pushed with one operation (or weight)."""

    path: str
    size: int
    changed_ns: int
    row_groups: tuple[int, ...]
    rows: int
    operation: int

    def encode(self) -> pa.RecordBatch:
        """The share as a message's batch."""
        columns = {
            "path": [self.path],
            "size": [self.size],
            "changed_ns": [self.changed_ns],
            "row_groups": [list(self.row_groups)],
            "rows": [self.rows],
            "operation": [self.operation],
        }
        return pa.RecordBatch.from_pydict(columns)

    @staticmethod
    def decode(batch: pa.RecordBatch) -> FileShare:
        """The inverse of :meth:`encode`."""
        row = batch.to_pylist()[0]
        return FileShare(**{**row, "row_groups": tuple(row["row_groups"])})

    def read(self, table: str, schema: pa.Schema, key: Sequence[int], seed: HashSeed) -> Delta:
        """The rows, with the hashes of their keys (of the whole row, if ``key`` is empty)."""
        found = Path(self.path).stat()
        if (found.st_size, found.st_mtime_ns) != (self.size, self.changed_ns):
            raise StorageError(f"{self.path} was changed after a step had taken it as input for table {table}")
        with pq.ParquetFile(self.path) as file:
            rows = file.read_row_groups(list(self.row_groups), columns=schema.names, use_threads=False)
        columns = tuple(self._column(table, field, rows) for field in schema)
        zset = ZSet(schema, columns, np.full(rows.num_rows, self.operation, np.int64))
        keys = [columns[i] for i in key] if key else columns
        return Delta(zset, hash_columns(keys, len(zset), seed))

    def _column(self, table: str, field: pa.Field, rows: pa.Table) -> pa.Array:
        chunks = rows[field.name].cast(field.type)
        column = pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], field.type)
        if not field.nullable and column.null_count:
            raise InputError(table, f"NULL in {self.path}, but the column is NOT NULL", column=field.name)
        return column


def shares_of(path: Path, table: str, schema: pa.Schema, operation: int, workers: int) -> list[FileShare]:
    """A file's row groups dealt out to the workers; worker ``i`` gets the ``i``-th share (some may be empty).

    Checks that the file has the table's columns in types that can become the table's without loss of kind.
    """
    try:
        found = path.stat()
        with pq.ParquetFile(path) as file:
            have, groups = file.schema_arrow, file.metadata
            sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(table, f"{path} cannot be read as Parquet: {error}") from error
    for field in schema:
        if field.name not in have.names:
            raise InputError(table, f"{path} has no such column; it has: {', '.join(have.names)}", column=field.name)
        _check_type(table, path, field, have.field(field.name).type)
    return [
        FileShare(
            str(path.absolute()),
            found.st_size,
            found.st_mtime_ns,
            tuple(range(worker, len(sizes), workers)),
            sum(sizes[worker::workers]),
            operation,
        )
        for worker in range(workers)
    ]


def _check_type(table: str, path: Path, field: pa.Field, have: pa.DataType) -> None:
    """Only types of the same kind: a number is never read as text, nor a date as a number."""
    try:
        pa.array([], have).cast(field.type)
    except pa.ArrowNotImplementedError:
        compatible = False
    else:
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal)
        compatible = have == field.type or not any(kind(have) != kind(field.type) for kind in kinds)
    if not compatible:
        raise InputError(table, f"{path} holds {have} where the table has {field.type}", column=field.name)
