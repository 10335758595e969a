"""The input of one step: what was pushed to each table, fixed before the step and logged with it.

Rows stand in push order, each with what to do with it (see :class:`penstock.circuit.operators.Table`)
and the hash of its key, so a replay sends the same rows to the same workers and gives the same output.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta, concat_deltas
from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.pipeline.tables import TableSchema
from penstock.schedule.files import FileInput
from penstock.schedule.message import Message, file_edge, input_edge
from penstock.storage import Part, decode_batch, encode_batch
from penstock.zset import HashSeed, ZSet, hash_columns

__all__ = ["StepInput", "pushed"]

_LENGTH = struct.Struct("<I")
_ALIGNMENT = 64


def pushed(table: TableSchema, rows: pa.RecordBatch, operation: int, seed: HashSeed) -> Delta:
    """Rows of a table's schema with one operation (for a keyless table: a weight) and their key hashes."""
    columns = tuple(rows.columns)
    if table.append_only:
        return Delta(ZSet(table.arrow_schema, columns, np.full(rows.num_rows, operation, np.int64)))
    names = rows.schema.names
    key = [columns[names.index(name)] for name in table.primary_key] if table.keyed else columns
    zset = ZSet(table.arrow_schema, columns, np.full(rows.num_rows, operation, np.int64))
    return Delta(zset, hash_columns(key, rows.num_rows, seed))


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
        """The pushes of one step, put together by table, and the files to be read."""
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

    def messages(self, program: Program, layout: Layout) -> list[Message]:
        """The rows for each worker, and the shares of files it is to read."""
        nodes = program.circuit.tables
        rows = [
            Message(input_edge(nodes[table]), worker, part)
            for table, delta in self.tables.items()
            for worker, part in _dealt(delta, layout)
        ]
        shares = [
            Message(file_edge(nodes[table]), worker, file.share(worker, layout.workers).encode())
            for table, file in self.files
            for worker in range(layout.workers)
        ]
        return rows + shares

    def to_parts(self, program: Program) -> list[Part]:
        """The input as bytes for the log: a header that names the tables, then one block for each. The
        fingerprint of a table says which of several that had the same name it is."""
        blocks = [encode_batch(delta.encode()) for delta in self.tables.values()]
        sizes = [sum(part.size for part in block) for block in blocks]
        index = [[name, size, _which(program, name)] for name, size in zip(self.tables, sizes, strict=True)]
        files = [[table, asdict(file), _which(program, table)] for table, file in self.files]
        header = json.dumps({"at_us": self.at_us, "tables": index, "files": files}).encode()
        head = _LENGTH.pack(len(header)) + header
        head += b" " * (-len(head) % _ALIGNMENT)
        return [head, *(part for block in blocks for part in block)]

    @staticmethod
    def from_buffer(buffer: pa.Buffer, program: Program) -> StepInput:
        """The inverse of :meth:`to_parts`. Rows of tables that were dropped since are left out."""
        circuit = program.circuit
        (length,) = _LENGTH.unpack_from(buffer)
        header = json.loads(bytes(buffer[_LENGTH.size : _LENGTH.size + length]))
        start = _LENGTH.size + length
        start += -start % _ALIGNMENT
        tables: dict[str, Delta] = {}
        for name, size, fingerprint in header["tables"]:
            if _which(program, name) == fingerprint:
                schema = circuit.nodes[circuit.tables[name]].operator.schema
                tables[name] = Delta.decode(schema, decode_batch(buffer.slice(start, size)))
            start += size
        files = [
            (table, FileInput.from_json(file))
            for table, file, fingerprint in header["files"]
            if _which(program, table) == fingerprint
        ]
        return StepInput(int(header["at_us"]), tables, files)


def _which(program: Program, table: str) -> str | None:
    """The fingerprint of the table of this name, if there is one."""
    node = program.circuit.tables.get(table)
    return None if node is None else program.circuit.nodes[node].fingerprint


def _dealt(delta: Delta, layout: Layout) -> list[tuple[int, Delta]]:
    """The rows by worker: by their keys, or where they have none, in equal runs."""
    if delta.keys is not None:
        return layout.split(delta)
    edges = np.linspace(0, len(delta), layout.workers + 1).astype(np.int64)
    return [
        (worker, Delta(delta.zset.slice(edges[worker], edges[worker + 1])))
        for worker in range(layout.workers)
        if edges[worker] < edges[worker + 1]
    ]
