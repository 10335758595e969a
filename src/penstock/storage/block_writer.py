"""Writes a batch as blocks, piece by piece, with a few blocks in memory whatever its size.

The rows come in order, in pieces of any size. Each block's chunks are placed as soon as its rows are there.
Plain buffers get a region of the file each, as large as they can become: a merge knows how many rows its
inputs have, not how many cancel out. What is left over stays a hole in the file, which takes no space.
Compressed chunks follow one another, block by block, behind the regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.storage.block_index import BlockIndex, Buffer, ChunkTable, Codec, Role, buffer_layout
from penstock.storage.checksum import ALIGNMENT, crc32c
from penstock.storage.interface import Part

__all__ = ["BLOCK_ROWS", "BlockWriter", "Bounds", "bounds_of_rows", "can_be_blocked"]

BLOCK_ROWS = 8192
"""Rows in a block, a multiple of 8 so that bits of different blocks are in different bytes. A chunk of 64-bit
values then has 64 KB (decision 66)."""

Place = Callable[[int, Part], None]
"""Called with a position in the file and the bytes that belong there."""


@dataclass(frozen=True)
class Bounds:
    """The most that a batch can have: rows, and for each column NULLs and bytes of text."""

    rows: int
    nulls: tuple[int, ...]
    data: tuple[int, ...]

    @staticmethod
    def together(parts: Sequence[Bounds]) -> Bounds:
        """Of several batches that become one."""
        return Bounds(
            sum(part.rows for part in parts),
            tuple(map(sum, zip(*(part.nulls for part in parts), strict=True))),
            tuple(map(sum, zip(*(part.data for part in parts), strict=True))),
        )


def bounds_of_rows(rows: pa.RecordBatch) -> Bounds:
    """What a batch in memory has."""
    return Bounds(
        rows.num_rows,
        tuple(column.null_count for column in rows.columns),
        tuple(_data_bytes(column) for column in rows.columns),
    )


@cache
def can_be_blocked(schema: pa.Schema) -> bool:
    """Whether all columns have types that can be stored as blocks."""
    return buffer_layout(schema, [1] * len(schema)) is not None


class BlockWriter:
    """Places the blocks of one batch in a file from ``offset`` on. ``codecs`` says by column name how a
    column is stored, if not as it is; a ``DERIVED`` column is left out."""

    def __init__(
        self,
        schema: pa.Schema,
        bounds: Bounds,
        codecs: Mapping[str, Codec],
        offset: int,
        place: Place,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        layout = buffer_layout(schema, bounds.nulls)
        assert layout is not None and block_rows % 8 == 0
        self._schema, self._place, self._block_rows = schema, place, block_rows
        self._buffers: list[Buffer] = []
        self._end = offset
        for column, role, width in layout:
            codec = _codec(role, width, codecs.get(schema.names[column], Codec.PLAIN))
            size = _size(role, width, bounds.rows, bounds.data[column])
            self._buffers.append(Buffer(column, role, width, codec, self._end, size, bounds.nulls[column]))
            if codec is Codec.PLAIN:
                self._end += -(-size // ALIGNMENT) * ALIGNMENT
        self._order = schema.get_field_index("order")
        self._nulls, self._reached = [0] * len(schema), [0] * len(self._buffers)
        self._pending: list[pa.RecordBatch] = []
        self._rows, self._last_word = 0, 0
        self._first_words: list[int] = []
        self._chunks: list[list[tuple[int, int, int, int, int]]] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """The next rows."""
        self._pending.append(rows)
        count = sum(part.num_rows for part in self._pending)
        if count >= self._block_rows:
            self._flush(count - count % self._block_rows)

    def finish(self) -> tuple[BlockIndex, int]:
        """Places the last block; returns the index, and where the batch ends in the file."""
        self._flush(sum(part.num_rows for part in self._pending))
        shape = (len(self._chunks), len(self._buffers))
        table = np.array(self._chunks, np.uint64).reshape(*shape, 5)
        start, size, offset, length = (np.ascontiguousarray(table[:, :, i]) for i in range(4))
        chunks = ChunkTable(start, size, offset, length, table[:, :, 4].astype(np.uint32))
        buffers = [
            Buffer(b.column, b.role, b.width, b.codec, b.offset, b.size, self._nulls[b.column])
            for b in self._buffers
        ]
        first = np.array(self._first_words, np.uint64)
        index = BlockIndex(
            self._rows, self._block_rows, self._last_word, self._schema, tuple(buffers), first, chunks
        )
        return index, -(-self._end // ALIGNMENT) * ALIGNMENT

    def _flush(self, count: int) -> None:
        """Places ``count`` of the pending rows, as whole blocks unless they are the last."""
        pending, self._pending = self._pending, []
        if not count:
            return
        whole = pending[0] if len(pending) == 1 else pa.concat_batches(pending)
        for start, stop in pairwise([*range(0, count, self._block_rows), count]):
            self._block(whole.slice(start, stop - start))
        if count < whole.num_rows:
            self._pending.append(whole.slice(count))

    def _block(self, rows: pa.RecordBatch) -> None:
        order = rows.column(self._order).to_numpy()
        self._first_words.append(int(order[0]))
        self._last_word = int(order[-1])
        for number, column in enumerate(rows.columns):
            self._nulls[number] += column.null_count
        self._chunks.append([self._chunk(number, rows) for number in range(len(self._buffers))])
        self._rows += rows.num_rows

    def _chunk(self, number: int, rows: pa.RecordBatch) -> tuple[int, int, int, int, int]:
        buffer = self._buffers[number]
        if buffer.role is Role.DATA:
            start = self._reached[number]
        elif buffer.role in (Role.VALIDITY, Role.BITS):
            start = self._rows // 8
        else:
            start = self._rows * buffer.width
        base = self._reached[number + 1] if buffer.role is Role.OFFSETS else 0
        content = _content(rows.column(buffer.column), buffer, base)
        self._reached[number] = start + content.size
        assert start + content.size <= buffer.size
        if buffer.codec is Codec.DERIVED or content.size == 0:
            return start, content.size, 0, 0, 0
        if buffer.codec is Codec.PLAIN:
            offset, stored = buffer.offset + start, content
        else:
            offset, stored = self._end, _compressed(content, buffer)
            self._end += stored.size
        self._place(offset, stored)
        return start, content.size, offset, stored.size, crc32c([stored])


def _codec(role: Role, width: int, codec: Codec) -> Codec:
    """How a buffer of a column with this codec is stored: offsets as differences, words as the column
    says."""
    if codec is Codec.ZSTD and role is Role.OFFSETS:
        return Codec.DELTA_ZSTD
    if codec is Codec.DELTA_ZSTD and (role is not Role.FIXED or width != 8):
        return Codec.DELTA_ZSTD if role is Role.OFFSETS else Codec.ZSTD
    return codec


def _size(role: Role, width: int, rows: int, data: int) -> int:
    if role is Role.DATA:
        return data
    if role is Role.OFFSETS:
        return (rows + 1) * width
    return -(-rows // 8) if role in (Role.VALIDITY, Role.BITS) else rows * width


def _content(array: pa.Array, buffer: Buffer, base: int) -> pa.Buffer:
    """The bytes of one buffer of some rows; offsets begin with ``base``."""
    width, length = buffer.width, len(array)
    if buffer.role is Role.VALIDITY:
        return _bits(array.is_valid())
    if buffer.role is Role.BITS:
        return _bits(pc.fill_null(array, False))
    buffers = array.buffers()
    if buffer.role is Role.FIXED:
        return buffers[1].slice(array.offset * width, length * width)
    offsets = np.frombuffer(
        buffers[1], f"i{_offset_width(array.type)}", length + 1, array.offset * _offset_width(array.type)
    )
    if buffer.role is Role.OFFSETS:
        return pa.py_buffer((offsets.astype(f"i{width}") - offsets[0] + base).astype(f"i{width}"))
    data = buffers[2]
    return pa.py_buffer(b"") if data is None else data.slice(offsets[0], int(offsets[-1] - offsets[0]))


def _offset_width(kind: pa.DataType) -> int:
    return 8 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else 4


def _bits(flags: pa.Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags.to_numpy(zero_copy_only=False), bitorder="little"))


def _compressed(content: pa.Buffer, buffer: Buffer) -> pa.Buffer:
    if buffer.codec is Codec.DELTA_ZSTD:
        words: NDArray[np.uint64] | NDArray[np.uint32] = np.frombuffer(content, f"u{buffer.width}")
        content = pa.py_buffer(np.diff(words, prepend=words.dtype.type(0)))
    return pa.Codec("zstd").compress(content)


def _data_bytes(column: pa.Array) -> int:
    roles = _offset_width(column.type)
    kind = column.type
    if not (
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    ):
        return 0
    offsets = np.frombuffer(column.buffers()[1], f"i{roles}", len(column) + 1, column.offset * roles)
    return int(offsets[-1] - offsets[0])
