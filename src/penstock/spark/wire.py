"""The format of commands, replies and exchanged batches, on sockets (:mod:`.line`) and on Arrow Flight
streams.

A *frame* is a small JSON header and any number of messages. Each message travels as its Arrow IPC schema
followed by its Arrow IPC record batch, uncompressed. Nothing received is ever executed: there is only JSON
and Arrow IPC.

A frame is cut into *chunks* of at most ``CHUNK_BYTES``, because gRPC limits the size of a message. A chunk is
of one of two kinds:

* a *listing*: ``u32 length of the JSON | JSON | padding | parts``. The JSON is ``{"frame": header, "parts":
  [[route, target, schema bytes, batch bytes], ...], "last": bool}``; only the first listing of a frame has
  the header. Parts start at multiples of ``ALIGNMENT``. A batch above ``INLINE_BYTES`` ends its listing and
  is not in it;
* a *continuation* holds the next bytes of that one large batch.

On a line a chunk has a prefix with its kind and length. On Flight a chunk is one write to a stream of a fixed
schema, one column of bytes, so one long-lived stream carries batches of any schema: a listing is a metadata
message, a continuation a record batch.

Small messages are copied into the listing, because one small message is faster than several. Large ones are
sent as zero-copy slices of the serialised buffer, and reassembled in an aligned buffer that the received
batch then uses.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from penstock.errors import PipelineError
from penstock.schedule.message import Message, Route, parse_route

__all__ = [
    "CARRIER",
    "CHUNK_BYTES",
    "Chunk",
    "Frame",
    "FrameReader",
    "begun",
    "chunks_of",
    "read_frame",
    "write_chunks",
    "write_frame",
]

CARRIER = pa.schema([pa.field("bytes", pa.uint8(), nullable=False)])
ALIGNMENT = 64
CHUNK_BYTES = 16 << 20
INLINE_BYTES = 1 << 20
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Frame:
    """One logical message: who, what and when in the header, data in the messages."""

    header: Mapping[str, Any]
    messages: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A listing or a continuation, never both."""

    listing: bytes | None = None
    continuation: pa.Buffer | None = None


def _padding(length: int) -> bytes:
    return bytes(-length % ALIGNMENT)


def _listing(
    header: Mapping[str, Any] | None, parts: list[list[str | int]], pieces: list[Any], last: bool
) -> Chunk:
    content: dict[str, Any] = {"parts": parts, "last": last}
    if header is not None:
        content["frame"] = header
    text = json.dumps(content).encode()
    prefix = _LENGTH.pack(len(text)) + text
    return Chunk(listing=b"".join([prefix, _padding(len(prefix)), *pieces]) if pieces else prefix)


def chunks_of(frame: Frame) -> Iterator[Chunk]:
    """Cut a frame into chunks, serialising each message only when its turn comes."""
    header: Mapping[str, Any] | None = frame.header
    parts: list[list[str | int]] = []
    pieces: list[Any] = []
    size = 0
    for position, message in enumerate(frame.messages, start=1):
        schema, body = message.batch.schema.serialize(), message.batch.serialize()
        if size > CHUNK_BYTES // 2:
            yield _listing(header, parts, pieces, last=False)
            header, parts, pieces, size = None, [], [], 0
        parts.append([str(message.route), message.target, schema.size, body.size])
        pieces += [schema, _padding(schema.size)]
        size += schema.size
        if body.size <= INLINE_BYTES:
            pieces += [body, _padding(body.size)]
            size += body.size
            continue
        yield _listing(header, parts, pieces, last=position == len(frame.messages))
        header, parts, pieces, size = None, [], [], 0
        for start in range(0, body.size, CHUNK_BYTES):
            yield Chunk(continuation=body.slice(start, min(CHUNK_BYTES, body.size - start)))
    if header is not None or parts:
        yield _listing(header, parts, pieces, last=True)


def begun(frame: Frame) -> Iterator[Chunk]:
    """The chunks of a frame, of which the first, usually the only one, is built now and not lazily: frames
    for several receivers can then be sent one right after the other."""
    chunks = chunks_of(frame)
    return chain([next(chunks)], chunks)


@lru_cache(maxsize=1024)
def _schema_from(encoded: bytes) -> pa.Schema:
    """The same few schemas arrive at every step; parsing each once also makes them one shared object."""
    return pa.ipc.read_schema(pa.py_buffer(encoded))


class FrameReader:
    """Reassembles the chunks of one stream; ``feed`` returns a frame when it is complete."""

    def __init__(self) -> None:
        self._header: Mapping[str, Any] | None = None
        self._messages: list[Message] = []
        self._last = False
        self._large: tuple[Route, int, pa.Schema, pa.Buffer] | None = None
        self._filled = 0

    def feed(self, chunk: Chunk) -> Frame | None:
        if chunk.listing is not None:
            self._list(chunk.listing)
        else:
            self._continue(chunk.continuation)
        if not self._last or self._large is not None:
            return None
        assert self._header is not None
        frame = Frame(self._header, tuple(self._messages))
        self._header, self._messages, self._last = None, [], False
        return frame

    def _list(self, listing: bytes) -> None:
        at = _LENGTH.size + _LENGTH.unpack_from(listing)[0]
        content = json.loads(listing[_LENGTH.size : at])
        if self._large is not None or ("frame" in content) != (self._header is None):
            raise PipelineError("a message between workers is out of order; this is a bug in Penstock")
        if self._header is None:
            self._header = content["frame"]
        self._last = content["last"]
        # Python's bytes are aligned; gRPC's memory need not be, and kernels need aligned numbers.
        payload = pa.py_buffer(listing)
        at += -at % ALIGNMENT
        for text, target, schema_size, size in content["parts"]:
            route, schema = parse_route(text), _schema_from(listing[at : at + schema_size])
            at += schema_size + -schema_size % ALIGNMENT
            if size <= INLINE_BYTES:
                batch = pa.ipc.read_record_batch(payload.slice(at, size), schema)
                self._messages.append(Message(route, target, batch))
                at += size + -size % ALIGNMENT
            else:
                self._large, self._filled = (route, target, schema, pa.allocate_buffer(size)), 0

    def _continue(self, payload: pa.Buffer | None) -> None:
        if self._large is None or payload is None:
            raise PipelineError("a message between workers is out of order; this is a bug in Penstock")
        route, target, schema, body = self._large
        end = self._filled + payload.size
        memoryview(body)[self._filled : end] = memoryview(payload)
        self._filled = end
        if end == body.size:
            self._messages.append(Message(route, target, pa.ipc.read_record_batch(body, schema)))
            self._large = None


def write_frame(writer: flight.MetadataRecordBatchWriter, frame: Frame) -> None:
    """Write a frame to a Flight stream begun with :data:`CARRIER`. Blocks while the receiver's window is
    full."""
    write_chunks(writer, chunks_of(frame))


def write_chunks(writer: flight.MetadataRecordBatchWriter, chunks: Iterable[Chunk]) -> None:
    """The same with a frame that is already cut into chunks."""
    for chunk in chunks:
        if chunk.listing is not None:
            writer.write_metadata(chunk.listing)
            continue
        assert chunk.continuation is not None
        column = pa.Array.from_buffers(pa.uint8(), chunk.continuation.size, [None, chunk.continuation])
        writer.write_batch(pa.RecordBatch.from_arrays([column], schema=CARRIER))


def read_frame(reader: flight.MetadataRecordBatchReader, frames: FrameReader) -> Frame | None:
    """The next frame of a Flight stream, None at its end. Raises what Flight raises when the stream
    breaks."""
    while True:
        try:
            received = reader.read_chunk()
        except StopIteration:
            return None
        if received.app_metadata is not None:
            frame = frames.feed(Chunk(listing=received.app_metadata.to_pybytes()))
        else:
            frame = frames.feed(Chunk(continuation=received.data.column(0).buffers()[1]))
        if frame is not None:
            return frame
