"""The rows that a staged step sends through Spark's shuffle.

Between two levels everything is rows of one schema: target worker, source worker, position among the source's
rows, kind, and payload. Spark may deliver rows in any order, so a task sorts them by source and position: the
same inbox, in the same order, as with resident workers.

A payload is an Arrow IPC stream (a batch) or JSON (everything else). A batch that is larger than
``PAYLOAD_BYTES`` is cut by rows into several messages, because a row and an Arrow batch of rows must stay far
below 2 GiB. To receivers that makes no difference: the parts of a route add up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.schedule.message import Message, parse_route

__all__ = ["ROW_DDL", "Row", "decode_batch", "encode_batch", "json_row", "message_rows", "pack", "unpack"]

ROW_DDL = "target int, source int, position int, kind string, route string, payload binary"
PAYLOAD_BYTES = 32 << 20
_SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("source", pa.int32()),
        ("position", pa.int32()),
        ("kind", pa.string()),
        ("route", pa.string()),
        ("payload", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class Row:
    """``kind``: start, message, refs, report or error."""

    target: int
    source: int
    kind: str
    route: str
    payload: bytes | pa.Buffer

    def message(self) -> Message:
        """The message in a row of kind ``message``."""
        return Message(parse_route(self.route), self.target, decode_batch(self.payload))


def json_row(target: int, source: int, kind: str, content: object) -> Row:
    return Row(target, source, kind, "", json.dumps(content).encode())


def message_rows(message: Message, source: int) -> Iterator[Row]:
    """The rows of one message: one, or several if its batch is large."""
    batch = message.batch
    pieces = max(1, -(-batch.nbytes // PAYLOAD_BYTES))
    length = max(1, -(-batch.num_rows // pieces))
    for start in range(0, max(1, batch.num_rows), length):
        yield Row(
            message.target, source, "message", str(message.route), encode_batch(batch.slice(start, length))
        )


def encode_batch(batch: pa.RecordBatch) -> pa.Buffer:
    """A batch as an Arrow IPC stream; :func:`decode_batch` is the way back."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def decode_batch(payload: bytes | pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_next_batch()


def pack(rows: Sequence[Row]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches for Spark, numbered in their order."""
    start, size = 0, 0
    for position, row in enumerate(rows):
        size += len(row.payload)
        if size >= PAYLOAD_BYTES or position == len(rows) - 1:
            yield _to_arrow(rows[start : position + 1], start)
            start, size = position + 1, 0


def _to_arrow(rows: Sequence[Row], start: int) -> pa.RecordBatch:
    columns: list[Any] = [
        [row.target for row in rows],
        [row.source for row in rows],
        range(start, start + len(rows)),
        [row.kind for row in rows],
        [row.route for row in rows],
        [memoryview(row.payload) for row in rows],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def unpack(batches: Iterable[pa.RecordBatch]) -> list[Row]:
    """All rows that Spark delivered, by source and position. Payloads are copied, hence aligned."""
    found: list[tuple[int, int, Row]] = []
    for batch in batches:
        for row in batch.to_pylist():
            content = Row(row["target"], row["source"], row["kind"], row["route"], row["payload"])
            found.append((row["source"], row["position"], content))
    return [row for _, _, row in sorted(found, key=lambda entry: entry[:2])]
