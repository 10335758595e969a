"""Parquet files as input: workers read them, so the rows never pass through the driver.

The driver splits the row groups of a file among the workers and sends each its share as a message on the
table's file edge. Before level 0 every worker reads its share, converts and checks it as pushed rows are
converted and checked, hashes the keys and sends each row to the worker that owns it, just as if the rows
had been pushed. What does not fit is an :class:`~penstock.errors.InputError` that names the table, the row
of the file and the column; the step then did not happen.

A share names the file's size and time of change as they were when the step was made. A replay that finds
another file stops: the step's input would not be the same.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructField, StructType

from penstock.circuit.delta import Delta
from penstock.errors import InputError
from penstock.intake.arrow_values import from_arrow
from penstock.intake.columns import contiguous, let_in
from penstock.intake.refusal import RefusedError
from penstock.zset import HashSeed, ZSet, hash_columns

__all__ = ["FileInput", "FileShare", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """What a file must hold: the table's columns, those of its key, and what local times mean."""

    table: str
    columns: StructType
    key: tuple[str, ...]
    timezone: str

    def to_json(self) -> str:
        """As it stands in messages and in the input log."""
        columns = [StructField(f.name, f.dataType, f.nullable) for f in self.columns.fields]
        return json.dumps({**vars(self), "columns": StructType(columns).jsonValue()})

    @staticmethod
    def from_json(text: str) -> Wanted:
        """The inverse of :meth:`to_json`."""
        value = json.loads(text)
        columns = StructType.fromJson(value["columns"])
        return Wanted(value["table"], columns, tuple(value["key"]), value["timezone"])

    def only(self, columns: Collection[int]) -> Wanted:
        """Some of the columns, in the table's order."""
        fields = [field for i, field in enumerate(self.columns.fields) if i in columns]
        return replace(self, columns=StructType(fields))

    def names_in(self, path: str, have: Sequence[str]) -> list[str]:
        """The columns by their names in the file, which may differ in case as they may in Spark."""
        found = []
        for field in self.columns.fields:
            named = [name for name in have if name.lower() == field.name.lower()]
            exact = [name for name in named if name == field.name]
            if len(exact or named) != 1:
                problem = "more than one such column" if named else "no such column"
                reason = f"{path} has {problem}; it has: {', '.join(have)}"
                raise InputError(self.table, reason, column=field.name)
            found += exact or named
        return found

    def columns_of(self, path: str, file: pq.ParquetFile, rows: pa.Table, first: int) -> tuple[pa.Array, ...]:
        """Rows of a file, from number ``first`` on, as columns of the table."""
        instants = _instants(file.schema)
        columns = []
        for field, name in zip(self.columns.fields, rows.schema.names, strict=True):
            column, timezone = rows[name], "UTC" if name in instants else self.timezone
            try:
                if name in instants and pa.types.is_timestamp(column.type):
                    column = column.cast(pa.timestamp("us", "UTC"))
                array = from_arrow(contiguous(column), field.dataType, timezone)
                columns.append(let_in(array, field, in_key=field.name in self.key))
            except RefusedError as refused:
                row = None if refused.index is None else first + refused.index
                place = ".".join((field.name, *refused.path))
                raise InputError(self.table, f"{refused.reason} (in {path})", row=row, column=place) from None
        return tuple(columns)


@dataclass(frozen=True)
class FileShare:
    """Some row groups of a Parquet file, to be pushed with one operation (or weight)."""

    path: str
    size: int
    changed_ns: int
    row_groups: tuple[int, ...]
    operation: int
    wanted: str

    def encode(self) -> pa.RecordBatch:
        """The share as a message's batch."""
        return pa.RecordBatch.from_pylist([{**asdict(self), "row_groups": list(self.row_groups)}])

    @staticmethod
    def decode(batch: pa.RecordBatch) -> FileShare:
        """The inverse of :meth:`encode`."""
        row = batch.to_pylist()[0]
        return FileShare(**{**row, "row_groups": tuple(row["row_groups"])})

    def read(
        self,
        table: str,
        schema: pa.Schema,
        key: Sequence[int] | None,
        seed: HashSeed,
        columns_read: Collection[int],
    ) -> Delta:
        """The rows, with the hashes of the columns ``key`` by which they find their worker, if any. Columns
        that are not among ``columns_read`` are NULL: nobody looks at them."""
        wanted = Wanted.from_json(self.wanted).only(columns_read)
        with _opened(self.path, table) as file:
            found = Path(self.path).stat()
            if (found.st_size, found.st_mtime_ns) != (self.size, self.changed_ns):
                reason = f"{self.path} was changed after a step took it as input; put it back as it was"
                raise InputError(table, reason)
            names = wanted.names_in(self.path, file.schema_arrow.names)
            counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            first = sum(counts[: min(self.row_groups, default=0)])
            size = sum(counts[i] for i in self.row_groups)
            try:
                rows = file.read_row_groups(list(self.row_groups), columns=names, use_threads=False)
            except (OSError, pa.ArrowException) as error:
                raise InputError(table, f"{self.path} cannot be read: {error}") from error
            found_columns = iter(wanted.columns_of(self.path, file, rows.select(names), first))
        columns = tuple(
            next(found_columns) if i in columns_read else pa.nulls(size, kind)
            for i, kind in enumerate(schema.types)
        )
        zset = ZSet(schema, columns, np.full(size, self.operation, np.int64))
        if key is None:
            return Delta(zset)
        return Delta(zset, hash_columns([columns[i] for i in key], size, seed))


@dataclass(frozen=True)
class FileInput:
    """A whole Parquet file as a step's input, with the rows of each of its row groups."""

    path: str
    size: int
    changed_ns: int
    group_rows: tuple[int, ...]
    operation: int
    wanted: str

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return sum(self.group_rows)

    def share(self, worker: int, workers: int) -> FileShare:
        """The row groups that one of ``workers`` workers reads: equal runs, so that the shares in the order
        of the workers are the file in its order (of rows with one key the last one counts)."""
        count = len(self.group_rows)
        groups = tuple(range(worker * count // workers, (worker + 1) * count // workers))
        return FileShare(self.path, self.size, self.changed_ns, groups, self.operation, self.wanted)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> FileInput:
        """A file as the input log holds it."""
        known = {field.name: value[field.name] for field in fields(FileInput)}
        return FileInput(**{**known, "group_rows": tuple(value["group_rows"])})

    @staticmethod
    def of(path: Path, wanted: Wanted, operation: int) -> FileInput:
        """Looks at a file; raises unless it has the table's columns in types that can become theirs."""
        with _opened(str(path), wanted.table) as file:
            found = path.stat()
            groups = file.metadata
            sizes = tuple(groups.row_group(i).num_rows for i in range(groups.num_row_groups))
            names = wanted.names_in(str(path), file.schema_arrow.names)
            wanted.columns_of(str(path), file, file.schema_arrow.empty_table().select(names), 0)
        return FileInput(
            str(path.absolute()), found.st_size, found.st_mtime_ns, sizes, operation, wanted.to_json()
        )


def _opened(path: str, table: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, coerce_int96_timestamp_unit="us", pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise InputError(table, f"{path} cannot be read as Parquet: {error}") from error


def _instants(schema: pq.ParquetSchema) -> set[str]:
    """The columns in which Spark wrote instants as it does unless told otherwise: as INT96, which Arrow takes
    for local times."""
    leaves = (schema.column(i) for i in range(len(schema.names)))
    paths = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
    tops = schema.to_arrow_schema().names
    return {name for name in tops for path in paths if path == name or path.startswith(f"{name}.")}
