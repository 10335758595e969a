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

__all__ = ["FileInput", "FileShare"]


@dataclass(frozen=True)
class FileShare:
    """Some row groups of a Parquet file, to be pushed with one operation (or weight)."""

    path: str
    size: int
    changed_ns: int
    row_groups: tuple[int, ...]
    operation: int

    def encode(self) -> pa.RecordBatch:
        """The share as a message's batch."""
        columns = {
            "path": [self.path],
            "size": [self.size],
            "changed_ns": [self.changed_ns],
            "row_groups": [list(self.row_groups)],
            "operation": [self.operation],
        }
        return pa.RecordBatch.from_pydict(columns)

    @staticmethod
    def decode(batch: pa.RecordBatch) -> FileShare:
        """The inverse of :meth:`encode`."""
        row = batch.to_pylist()[0]
        return FileShare(**{**row, "row_groups": tuple(row["row_groups"])})

    def read(self, table: str, schema: pa.Schema, key: Sequence[int] | None, seed: HashSeed) -> Delta:
        """The rows, with the hashes of the columns ``key`` by which they find their worker, if any."""
        found = Path(self.path).stat()
        if (found.st_size, found.st_mtime_ns) != (self.size, self.changed_ns):
            raise StorageError(f"{self.path} was changed after a step took it as input for table {table}")
        with pq.ParquetFile(self.path) as file:
            rows = file.read_row_groups(list(self.row_groups), columns=schema.names, use_threads=False)
        columns = tuple(self._column(table, field, rows) for field in schema)
        zset = ZSet(schema, columns, np.full(rows.num_rows, self.operation, np.int64))
        if key is None:
            return Delta(zset)
        return Delta(zset, hash_columns([columns[i] for i in key], len(zset), seed))

    def _column(self, table: str, field: pa.Field, rows: pa.Table) -> pa.Array:
        chunks = rows[field.name].cast(field.type)
        column = pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], field.type)
        if not field.nullable and column.null_count:
            raise InputError(table, f"NULL in {self.path}, but the column is NOT NULL", column=field.name)
        return column


@dataclass(frozen=True)
class FileInput:
    """A whole Parquet file as a step's input, with the rows of each of its row groups."""

    path: str
    size: int
    changed_ns: int
    group_rows: tuple[int, ...]
    operation: int

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return sum(self.group_rows)

    def share(self, worker: int, workers: int) -> FileShare:
        """The row groups that one of ``workers`` workers reads: equal runs, so that the shares in the order
        of the workers are the file in its order (of rows with one key the last one counts)."""
        count = len(self.group_rows)
        groups = tuple(range(worker * count // workers, (worker + 1) * count // workers))
        return FileShare(self.path, self.size, self.changed_ns, groups, self.operation)

    @staticmethod
    def of(path: Path, table: str, schema: pa.Schema, operation: int) -> FileInput:
        """Looks at a file; raises unless it has the table's columns in types of the same kind."""
        try:
            found = path.stat()
            with pq.ParquetFile(path) as file:
                have, groups = file.schema_arrow, file.metadata
                sizes = tuple(groups.row_group(i).num_rows for i in range(groups.num_row_groups))
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(table, f"{path} cannot be read as Parquet: {error}") from error
        for field in schema:
            if field.name not in have.names:
                reason = f"{path} has no such column; it has: {', '.join(have.names)}"
                raise InputError(table, reason, column=field.name)
            _check_type(table, path, field, have.field(field.name).type)
        return FileInput(str(path.absolute()), found.st_size, found.st_mtime_ns, sizes, operation)


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
