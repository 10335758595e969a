"""The input of one step: what was pushed to each table, fixed before the step and logged with it.

Rows are in push order, each with its operation (see :class:`penstock.circuit.operators.Table`) and the hash
of its key, so a replay sends the same rows to the same workers and gives the same output.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta, concat_deltas, pushed_delta
from penstock.circuit.layout import Layout
from penstock.circuit.operation import Operation
from penstock.circuit.operators import Table
from penstock.circuit.program import Program
from penstock.pipeline.tables import TableSchema
from penstock.schedule.files import FileInput
from penstock.schedule.message import InputFiles, Message, PushedRows
from penstock.storage import Part, decode_batch, encode_batch
from penstock.zset import HashSeed, hash_columns

__all__ = ["StepInput", "pushed"]

_LENGTH = struct.Struct("<I")
_ALIGNMENT = 64


def pushed(table: TableSchema, rows: pa.RecordBatch, operation: Operation, seed: HashSeed) -> Delta:
    """Rows of a table's schema, all with one operation, and the hashes of their keys."""
    columns, size, names = tuple(rows.columns), rows.num_rows, rows.schema.names
    keys = None
    if not table.append_only:
        key = [columns[names.index(name)] for name in table.primary_key] if table.keyed else columns
        keys = hash_columns(key, size, seed)
    return pushed_delta(table.arrow_schema, columns, size, keys, operation, keyed=table.keyed)


@dataclass(frozen=True)
class StepInput:
    """For each table the pushed rows, in push order; ``at_us`` is the step's time (µs since 1970)."""

    at_us: int
    tables: Mapping[str, Delta] = field(default_factory=dict)
    files: Sequence[tuple[str, FileInput]] = ()

    @staticmethod
    def of(
        pushes: Sequence[tuple[str, Delta]], at_us: int, files: Sequence[tuple[str, FileInput]] = ()
    ) -> StepInput:
        """The pushes of one step, grouped by table, and the files to be read."""
        by_table: dict[str, list[Delta]] = {}
        for table, delta in pushes:
            by_table.setdefault(table, []).append(delta)
        tables = {t: concat_deltas(parts[0].zset.schema, parts) for t, parts in by_table.items()}
        return StepInput(at_us, tables, tuple(files))

    @property
    def rows(self) -> int:
        """How many rows were pushed."""
        return sum(self.rows_by_table.values())

    @property
    def rows_by_table(self) -> dict[str, int]:
        """How many rows were pushed to each table."""
        rows = {table: len(delta) for table, delta in self.tables.items()}
        for table, file in self.files:
            rows[table] = rows.get(table, 0) + file.rows
        return rows

    def with_checksums(self, found: Mapping[str, int]) -> StepInput:
        """The same with the checksums of what workers read: by file path and chunk name."""
        chunks: dict[str, dict[str, int]] = {}
        for place, checksum in found.items():
            path, _, chunk = place.rpartition("\n")
            chunks.setdefault(path, {})[chunk] = checksum
        files = [(table, replace(file, checksums=chunks.get(file.path, {}))) for table, file in self.files]
        return replace(self, files=tuple(files))

    def without_files(self, paths: Container[str]) -> StepInput:
        """The same without some files."""
        return replace(self, files=tuple(item for item in self.files if item[1].path not in paths))

    def messages(self, program: Program, layout: Layout) -> list[Message]:
        """The rows for each worker, and the shares of files it is to read."""
        nodes = program.circuit.tables
        rows = [
            Message(PushedRows(nodes[table]), worker, part)
            for table, delta in self.tables.items()
            for worker, part in _by_worker(delta, layout)
        ]
        shares = [
            Message(InputFiles(nodes[table]), worker, file.share(worker, layout.workers).encode())
            for table, file in self.files
            for worker in range(layout.workers)
        ]
        return rows + shares

    def to_parts(self, program: Program) -> list[Part]:
        """The input as bytes for the log: a header that lists the tables, then one block for each. The
        fingerprint identifies which of several tables that had the same name it is."""
        blocks = [encode_batch(delta.encode()) for delta in self.tables.values()]
        sizes = [sum(part.size for part in block) for block in blocks]
        index = [[name, size, _which(program, name)] for name, size in zip(self.tables, sizes, strict=True)]
        files = [[table, asdict(file), _which(program, table)] for table, file in self.files]
        header = json.dumps({"at_us": self.at_us, "tables": index, "files": files}).encode()
        head = _LENGTH.pack(len(header)) + header
        head += b" " * (-len(head) % _ALIGNMENT)
        return [head, *(part for block in blocks for part in block)]

    @staticmethod
    def files_in(buffer: pa.Buffer) -> list[tuple[str, FileInput]]:
        """The files in a logged input, with the tables they were for."""
        return [(table, FileInput.from_json(file)) for table, file, _ in _header(buffer)[0]["files"]]

    @staticmethod
    def check(buffer: pa.Buffer) -> None:
        """Raises ValueError unless a buffer is a logged input whose parts can all be read."""
        header, start = _header(buffer)
        for _, size, _ in header["tables"]:
            try:
                decode_batch(buffer.slice(start, size))
            except (pa.ArrowException, OSError, StopIteration) as error:
                raise ValueError(f"the rows of a table are not an Arrow stream: {error}") from error
            start += size

    @staticmethod
    def from_buffer(buffer: pa.Buffer, program: Program) -> StepInput:
        """The inverse of :meth:`to_parts`. Rows of tables that were dropped since are left out."""
        circuit = program.circuit
        header, start = _header(buffer)
        tables: dict[str, Delta] = {}
        for name, size, fingerprint in header["tables"]:
            if _which(program, name) == fingerprint:
                operator = circuit.nodes[circuit.tables[name]].operator
                delta = Delta.decode(operator.schema, decode_batch(buffer.slice(start, size)))
                keyed = isinstance(operator, Table) and bool(operator.key)
                tables[name] = _with_operations(delta) if keyed else delta
            start += size
        files = [
            (table, FileInput.from_json(file))
            for table, file, fingerprint in header["files"]
            if _which(program, table) == fingerprint
        ]
        return StepInput(int(header["at_us"]), tables, files)


def _header(buffer: pa.Buffer) -> tuple[dict[str, Any], int]:
    """The header of a logged input, and where the rows begin. Raises ValueError if there is none."""
    try:
        (length,) = _LENGTH.unpack_from(buffer)
    except struct.error as error:
        raise ValueError(f"it is not the input of a step: {error}") from error
    header = json.loads(bytes(buffer[_LENGTH.size : _LENGTH.size + length]))
    if not (isinstance(header, dict) and {"at_us", "tables", "files"} <= header.keys()):
        raise ValueError("it is not the input of a step")
    start = _LENGTH.size + length
    return header, start + -start % _ALIGNMENT


def _with_operations(delta: Delta) -> Delta:
    """Rows for a keyed table in the current form: earlier logs have the operation in place of the weight."""
    if delta.operations is not None:
        return delta
    weights = delta.zset.weights
    zset = delta.zset.with_weights(np.ones_like(weights))
    return replace(delta, zset=zset, operations=weights.astype(np.int8))


def _which(program: Program, table: str) -> str | None:
    """The fingerprint of the table of this name, if there is one."""
    node = program.circuit.tables.get(table)
    return None if node is None else program.circuit.nodes[node].fingerprint


def _by_worker(delta: Delta, layout: Layout) -> list[tuple[int, Delta]]:
    """The rows by worker: by key hash, or for tables without a key, in equal runs."""
    if delta.keys is not None:
        return layout.split(delta)
    edges = np.linspace(0, len(delta), layout.workers + 1).astype(np.int64)
    return [
        (worker, Delta(delta.zset.slice(edges[worker], edges[worker + 1])))
        for worker in range(layout.workers)
        if edges[worker] < edges[worker + 1]
    ]
