"""One record batch as an Arrow IPC stream whose every buffer starts at a multiple of 64 bytes.

Invariant: a block is a standard IPC stream (schema, dictionaries, one record batch, end marker, zero
padding), so any Arrow implementation reads it, and its length is a multiple of 64, so blocks laid end to
end stay aligned.

Arrow's own writer aligns buffers to 8 bytes and offers no setting for it from Python, while vector
kernels and NumPy want 64. So the stream is written into a sink that collects Arrow's buffers as they are
(no copy, except what Arrow itself must shift because the batch is a slice), and the buffer offsets in the
flatbuffer metadata are moved. Encoding costs no copy of the data; decoding none either: the batch's
buffers point into the block.
"""

from __future__ import annotations

import struct
from collections import deque

import pyarrow as pa

from penstock.storage.checksum import ALIGNMENT, padding
from penstock.storage.interface import Part, to_buffer

__all__ = ["decode_batch", "encode_batch"]

# Uncompressed, or the buffers would not be usable in place.
_OPTIONS = pa.ipc.IpcWriteOptions(allow_64bit=True)
_PREFIX = struct.Struct("<4si")  # continuation marker, length of the metadata
_SPAN = struct.Struct("<qq")  # Buffer: offset in the body, length

# The places of fields in the tables of Arrow's Message.fbs that hold where a body's buffers are.
_MESSAGE_HEADER_TYPE, _MESSAGE_HEADER, _MESSAGE_BODY_LENGTH = 1, 2, 3
_HEADER_DICTIONARY_BATCH = 2
_DICTIONARY_BATCH_DATA = 1
_RECORD_BATCH_BUFFERS = 2


def encode_batch(batch: pa.RecordBatch) -> list[pa.Buffer]:
    """The block as parts to be written one after the other. They share memory with the batch."""
    sink = _Sink()
    with (
        pa.PythonFile(sink, mode="w") as file,
        pa.ipc.new_stream(file, batch.schema, options=_OPTIONS) as writer,
    ):
        writer.write_batch(batch)
    out: list[pa.Buffer] = []
    while True:
        prefix = sink.take_bytes(_PREFIX.size)
        marker, length = _PREFIX.unpack(prefix)
        if length == 0:
            end = to_buffer(prefix)
            return [*out, end, padding(end.size)]
        metadata = bytearray(sink.take_bytes(length))
        metadata += bytes(padding(_PREFIX.size + length))
        body = _aligned_body(metadata, sink)
        out += [to_buffer(_PREFIX.pack(marker, len(metadata)) + metadata), *body]


def decode_batch(block: pa.Buffer) -> pa.RecordBatch:
    """The batch in a block, its buffers pointing into it. Raises pa.ArrowInvalid if it is no stream."""
    with pa.ipc.open_stream(block) as reader:
        return reader.read_next_batch()


class _Sink:
    """A file object that keeps what Arrow writes, buffer by buffer, and hands it out again in order."""

    closed = False

    def __init__(self) -> None:
        self._parts: deque[pa.Buffer] = deque()

    def write(self, part: Part) -> int:
        buffer = to_buffer(part)
        if buffer.size:
            self._parts.append(buffer)
        return int(buffer.size)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def take(self, size: int) -> list[pa.Buffer]:
        taken: list[pa.Buffer] = []
        while size > 0:
            part = self._parts.popleft()
            if part.size > size:
                self._parts.appendleft(part.slice(size))
                part = part.slice(0, size)
            taken.append(part)
            size -= part.size
        return taken

    def take_bytes(self, size: int) -> bytes:
        return b"".join(bytes(part) for part in self.take(size))


def _aligned_body(metadata: bytearray, sink: _Sink) -> list[pa.Buffer]:
    """Take a message's body from the sink, spread its buffers out, and say so in the metadata."""
    message = _follow(metadata, 0)
    length_at = _field(metadata, message, _MESSAGE_BODY_LENGTH)
    body_length = struct.unpack_from("<q", metadata, length_at)[0] if length_at else 0
    if body_length == 0:
        return []
    out: list[pa.Buffer] = []
    read, written = 0, 0
    for at in _spans(metadata, message):
        offset, length = _SPAN.unpack_from(metadata, at)
        sink.take(offset - read)
        out += sink.take(length)
        out.append(padding(length))
        _SPAN.pack_into(metadata, at, written, length)
        read, written = offset + length, written + length + out[-1].size
    sink.take(body_length - read)
    struct.pack_into("<q", metadata, length_at, written)
    assert written % ALIGNMENT == 0
    return out


def _spans(metadata: bytearray, message: int) -> range:
    """The positions of the Buffer structs of a record batch or dictionary batch message."""
    table = _follow(metadata, _field(metadata, message, _MESSAGE_HEADER))
    if metadata[_field(metadata, message, _MESSAGE_HEADER_TYPE)] == _HEADER_DICTIONARY_BATCH:
        table = _follow(metadata, _field(metadata, table, _DICTIONARY_BATCH_DATA))
    vector = _follow(metadata, _field(metadata, table, _RECORD_BATCH_BUFFERS))
    (count,) = struct.unpack_from("<I", metadata, vector)
    return range(vector + 4, vector + 4 + count * _SPAN.size, _SPAN.size)


def _field(metadata: bytearray, table: int, index: int) -> int:
    """Where a flatbuffer table keeps a field, or 0 if it leaves it at its default."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    slot = 4 + 2 * index
    if slot >= struct.unpack_from("<H", metadata, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", metadata, vtable + slot)[0]
    return table + int(offset) if offset else 0


def _follow(metadata: bytearray, at: int) -> int:
    return at + int(struct.unpack_from("<I", metadata, at)[0])
