"""Parquet files as input: workers read them, so the rows never pass through the driver.

The driver splits the row groups of a file among the workers and sends each its share as a message on the
table's file edge. Before level 0 every worker reads its share, converts and checks it like pushed rows,
hashes the keys and sends each row to the worker that owns it, just as if the rows had been pushed. What does
not fit raises an :class:`~penstock.errors.InputError` that names the table, the row of the file and the
column; the step then has no effect.

The workers report the checksums of what they read, and the step is logged with them. A replay that reads
anything else stops: the step's input would not be the same.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructField, StructType

from penstock.circuit.delta import Delta, pushed_delta
from penstock.circuit.operation import Operation
from penstock.errors import InputError
from penstock.intake.arrow_values import from_arrow
from penstock.intake.columns import checked_column, contiguous
from penstock.intake.refusal import RefusedError
from penstock.schedule.column_chunks import ChunkFile
from penstock.zset import HashSeed, concat, hash_columns, width

__all__ = ["FileInput", "FileShare", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """What a file must contain: the table's columns, those of its key, and the time zone of local times."""

    table: str
    columns: StructType
    key: tuple[str, ...]
    timezone: str

    def to_json(self) -> str:
        """The form in messages and in the input log."""
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
        """The columns by their names in the file, which are case-insensitive as in Spark."""
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
        """Rows of a file, starting with number ``first``, as columns of the table."""
        instants = _instants(file.schema)
        columns = []
        for field, name in zip(self.columns.fields, rows.schema.names, strict=True):
            column, timezone = rows[name], "UTC" if name in instants else self.timezone
            try:
                if name in instants and pa.types.is_timestamp(column.type):
                    column = column.cast(pa.timestamp("us", "UTC"))
                array = from_arrow(contiguous(column), field.dataType, timezone)
                columns.append(checked_column(array, field, in_key=field.name in self.key))
            except RefusedError as refused:
                row = None if refused.index is None else first + refused.index
                place = ".".join((field.name, *refused.path))
                raise InputError(self.table, f"{refused.reason} (in {path})", row=row, column=place) from None
        return tuple(columns)


@dataclass(frozen=True)
class FileShare:
    """Some row groups of a Parquet file, to be pushed with one operation."""

    path: str
    row_groups: tuple[int, ...]
    operation: Operation
    wanted: str
    expected: Mapping[str, int]
    """The checksums of chunks that the step was logged with; empty if it runs for the first time."""

    def encode(self) -> pa.RecordBatch:
        """The share as a message's batch."""
        return pa.RecordBatch.from_pydict({"share": [json.dumps(asdict(self))]})

    @staticmethod
    def decode(batch: pa.RecordBatch) -> FileShare:
        """The inverse of :meth:`encode`."""
        share = json.loads(batch.column(0)[0].as_py())
        typed = {"row_groups": tuple(share["row_groups"]), "operation": Operation(share["operation"])}
        return FileShare(**{**share, **typed})

    def read(
        self,
        table: str,
        schema: pa.Schema,
        key: Sequence[int] | None,
        seed: HashSeed,
        columns_read: Collection[int],
    ) -> tuple[Delta, dict[str, int]]:
        """The rows, with the hashes of the columns ``key`` by which they are assigned to workers, if any; and
        the checksums of what was read. Columns that are not in ``columns_read`` are NULL: no view uses
        them."""
        wanted = Wanted.from_json(self.wanted).only(columns_read)
        with _opened(self.path, table) as (chunks, file):
            names = wanted.names_in(self.path, file.schema_arrow.names)
            counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            first = sum(counts[: min(self.row_groups, default=0)])
            if len(counts) <= max(self.row_groups, default=-1):
                raise self._other_file(table)
            size = sum(counts[i] for i in self.row_groups)
            checksums: dict[str, int] = {}
            groups = []
            try:
                for group in self.row_groups:
                    checksums |= chunks.take(file.metadata, group, names)
                    groups.append(file.read_row_group(group, columns=names, use_threads=False))
            except (OSError, pa.ArrowException) as error:
                raise InputError(table, f"{self.path} cannot be read: {error}") from error
            if any(self.expected.get(name, checksum) != checksum for name, checksum in checksums.items()):
                raise self._other_file(table)
            rows = pa.concat_tables(groups) if groups else file.schema_arrow.empty_table()
            parts = [
                wanted.columns_of(self.path, file, piece, first + start)
                for start, piece in _pieces(rows.select(names))
            ]
            found_columns = map(concat, zip(*parts, strict=True))
        columns = tuple(
            next(found_columns) if i in columns_read else pa.nulls(size, kind)
            for i, kind in enumerate(schema.types)
        )
        keys = None if key is None else hash_columns([columns[i] for i in key], size, seed)
        rows_pushed = pushed_delta(schema, columns, size, keys, self.operation, keyed=bool(wanted.key))
        return rows_pushed, checksums

    def _other_file(self, table: str) -> InputError:
        return InputError(
            table, f"{self.path} was changed after a step took it as input; put it back as it was"
        )


@dataclass(frozen=True)
class FileInput:
    """A whole Parquet file as a step's input, with the rows of each of its row groups."""

    path: str
    group_rows: tuple[int, ...]
    operation: Operation
    wanted: str
    checksums: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Of the chunks that were read; empty before the step has run."""

    @property
    def rows(self) -> int:
        """How many rows the file has."""
        return sum(self.group_rows)

    def share(self, worker: int, workers: int) -> FileShare:
        """The row groups that one of ``workers`` workers reads: equal runs, so that the shares in the order
        of the workers are the file in its order (the last of several rows with one key wins)."""
        count = len(self.group_rows)
        groups = tuple(range(worker * count // workers, (worker + 1) * count // workers))
        expected = {k: v for k, v in self.checksums.items() if int(k.split(":")[0]) in groups}
        return FileShare(self.path, groups, self.operation, self.wanted, expected)

    @property
    def is_unchanged(self) -> bool:
        """Whether a replay would read what the step has read: every chunk has the checksum that was logged.
        Reads all of them."""
        by_group: dict[int, dict[str, int]] = {}
        for key, checksum in self.checksums.items():
            by_group.setdefault(int(key.split(":")[0]), {})[key] = checksum
        try:
            with _opened(self.path, "") as (chunks, file):
                return file.metadata.num_row_groups >= len(self.group_rows) and all(
                    chunks.take(file.metadata, group, _columns_of(expected)) == expected
                    for group, expected in by_group.items()
                )
        except (InputError, OSError):
            return False

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> FileInput:
        """A file as it is in the input log."""
        rows, operation = tuple(value["group_rows"]), Operation(value["operation"])
        return FileInput(value["path"], rows, operation, value["wanted"], value.get("checksums", {}))

    @staticmethod
    def of(path: Path, wanted: Wanted, operation: Operation) -> FileInput:
        """Inspects a file; raises unless it has the table's columns in types that can be converted to
        theirs."""
        with _opened(str(path), wanted.table) as (_, file):
            groups = file.metadata
            sizes = tuple(groups.row_group(i).num_rows for i in range(groups.num_row_groups))
            names = wanted.names_in(str(path), file.schema_arrow.names)
            wanted.columns_of(str(path), file, file.schema_arrow.empty_table().select(names), 0)
        return FileInput(str(path.absolute()), sizes, operation, wanted.to_json())


def _columns_of(chunk_keys: Collection[str]) -> set[str]:
    """The top-level columns that chunks belong to, by the names of the chunks."""
    return {key.partition(":")[2].split(".")[0] for key in chunk_keys}


def _pieces(rows: pa.Table, start: int = 0) -> Iterator[tuple[int, pa.Table]]:
    """The rows in parts each column of which fits one array of the table's type, and where they start."""
    if rows.num_rows < 2 or rows.nbytes <= width.MOST_BYTES:
        yield start, rows
        return
    middle = rows.num_rows // 2
    yield from _pieces(rows.slice(0, middle), start)
    yield from _pieces(rows.slice(middle), start + middle)


@contextmanager
def _opened(path: str, table: str) -> Iterator[tuple[ChunkFile, pq.ParquetFile]]:
    with ExitStack() as closing:
        try:
            chunks = closing.enter_context(ChunkFile(path))
            file = pq.ParquetFile(chunks, coerce_int96_timestamp_unit="us", pre_buffer=False)
            closing.callback(file.close)
        except (OSError, pa.ArrowException) as error:
            raise InputError(table, f"{path} cannot be read as Parquet: {error}") from error
        yield chunks, file


def _instants(schema: pq.ParquetSchema) -> set[str]:
    """The columns in which Spark wrote timestamps in its default form: as INT96, which Arrow reads as local
    times."""
    leaves = (schema.column(i) for i in range(len(schema.names)))
    paths = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
    tops = schema.to_arrow_schema().names
    return {name for name in tops for path in paths if path == name or path.startswith(f"{name}.")}
