"""Writes a batch as blocks, piece by piece, with a few blocks in memory whatever its size.

The rows come in order, in pieces of any size. All whole blocks of a piece are placed at once, buffer by
buffer, by compiled loops: nothing is done for each block in Python. Plain buffers get a region of the file
each, as large as they can become: a merge knows how many rows its inputs have, not how many cancel out. What
is left over stays a hole in the file, which takes no space. Packed chunks follow one another behind the
regions. Columns with nested types are always packed: how large their children become is not known before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.storage.block_content import Bytes, Content, Offsets, contents, data_bytes, size_of
from penstock.storage.block_form import BlockForm
from penstock.storage.block_index import BlockIndex, Buffer, ChunkTable, Codec, Role
from penstock.storage.block_layout import buffer_layout
from penstock.storage.checksum import ALIGNMENT
from penstock.storage.checksums import checksums
from penstock.storage.filters import build_filters, filter_room
from penstock.storage.interface import Part
from penstock.storage.packing import Packer

__all__ = ["BlockWriter", "Bounds", "bounds_of_rows"]

Indices = NDArray[np.int64]
Place = Callable[[int, Part], None]
"""Called with a position in the file and the bytes that belong there."""


@dataclass(frozen=True)
class Bounds:
    """The most that a batch can have: rows, and for each column NULLs and bytes of variable length."""

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
        tuple(map(data_bytes, rows.columns)),
    )


class BlockWriter:
    """Places the blocks of one batch in a file from ``offset`` on."""

    def __init__(self, schema: pa.Schema, bounds: Bounds, form: BlockForm, offset: int, place: Place) -> None:
        assert form.block_rows % 8 == 0
        self._schema, self._place, self._form = schema, place, form
        self._end = offset
        self._buffers = self._laid_out(bounds)
        self._packers = [Packer(tight=form.tight) for _ in self._buffers]
        self._order = schema.get_field_index("order")
        self._reached = [0] * len(self._buffers)
        self._pending: list[pa.RecordBatch] = []
        self._rows, self._last_word = 0, 0
        self._first_words: list[NDArray[np.uint64]] = []
        self._chunks: list[ChunkTable] = []

    def _laid_out(self, bounds: Bounds) -> list[Buffer]:
        """The buffers, with regions for the plain ones."""
        found = []
        for place in buffer_layout(self._schema, bounds.nulls):
            codec = self._form.of(self._schema.names[place.column])
            if place.is_nested and codec is Codec.PLAIN:
                codec = Codec.PACKED
            size = _size(place.role, place.width, bounds.rows, bounds.data[place.column])
            found.append(Buffer(place.column, place.node, place.role, place.width, codec, 0, size, 0, 0))
        if self._form.filtered:
            column = self._schema.get_field_index(self._form.filtered)
            node = next(buffer.node for buffer in found if buffer.column == column)
            size = filter_room(bounds.rows, bounds.rows // self._form.block_rows + 1)
            found.append(Buffer(column, node, Role.FILTER, 1, Codec.PLAIN, 0, size, 0, 0))
        for number, buffer in enumerate(found):
            if buffer.codec is Codec.PLAIN:
                found[number] = replace(buffer, offset=self._end)
                self._end += -(-buffer.size // ALIGNMENT) * ALIGNMENT
        return found

    def add(self, rows: pa.RecordBatch) -> None:
        """The next rows."""
        self._pending.append(rows)
        count = sum(part.num_rows for part in self._pending)
        if count >= self._form.block_rows:
            self._flush(count - count % self._form.block_rows)

    def finish(self) -> tuple[BlockIndex, int]:
        """Places the last block; returns the index, and where the batch ends in the file."""
        self._flush(sum(part.num_rows for part in self._pending))
        empty = np.empty((0, len(self._buffers)), np.uint64)
        tables = self._chunks or [ChunkTable(empty, empty, empty, empty, empty.astype(np.uint32))]
        chunks = ChunkTable(
            *(np.concatenate([getattr(t, name) for t in tables]) for name in ChunkTable.__slots__)
        )
        first = np.concatenate(self._first_words) if self._first_words else np.empty(0, np.uint64)
        buffers = tuple(
            b if b.codec is Codec.PLAIN else replace(b, size=size_of(b.role, b.width, self._reached[number]))
            for number, b in enumerate(self._buffers)
        )
        index = BlockIndex(
            self._rows, self._form.block_rows, self._last_word, self._schema, buffers, first, chunks
        )
        return index, -(-self._end // ALIGNMENT) * ALIGNMENT

    def _flush(self, count: int) -> None:
        """Places ``count`` of the pending rows, as whole blocks unless they are the last."""
        pending, self._pending = self._pending, []
        if not count:
            self._pending = [part for part in pending if part.num_rows]
            return
        whole = pending[0] if len(pending) == 1 else pa.concat_batches(pending)
        cuts = np.append(np.arange(0, count, self._form.block_rows), count)
        self._blocks(whole.slice(0, count), cuts)
        if count < whole.num_rows:
            self._pending.append(whole.slice(count))

    def _blocks(self, rows: pa.RecordBatch, cuts: Indices) -> None:
        order = rows.column(self._order).to_numpy()
        self._first_words.append(order[cuts[:-1]])
        self._last_word = int(order[-1])
        blocks, buffers = len(cuts) - 1, len(self._buffers)
        start, size, offset, length = np.zeros((4, blocks, buffers), np.uint64)
        table = ChunkTable(start, size, offset, length, np.zeros((blocks, buffers), np.uint32))
        found, nulls = contents(rows, cuts)
        for number, buffer in enumerate(self._buffers):
            if buffer.role is Role.FILTER:
                content: Content = _filters(rows.column(buffer.column).to_numpy(), cuts)
            else:
                content = found[buffer.node, buffer.role]
            self._write(number, content, table)
            self._buffers[number] = replace(
                buffer,
                nulls=buffer.nulls + nulls[buffer.node],
                reach=buffer.reach + (content.reach if isinstance(content, Offsets) else 0),
            )
        self._chunks.append(table)
        self._rows += rows.num_rows

    def _write(self, number: int, content: Content, table: ChunkTable) -> None:
        """Places the chunks of a buffer, and notes where."""
        buffer, before = self._buffers[number], self._reached[number]
        starts, sizes = content.spans(before)
        self._reached[number] += content.count
        table.start[:, number], table.size[:, number] = starts, sizes
        if buffer.codec is Codec.DERIVED:
            return
        if buffer.codec is Codec.PLAIN:
            stored = content.plain(buffer.reach)
            begins, lengths, offset = starts - starts[0], sizes, buffer.offset + int(starts[0])
            assert int(starts[-1] + sizes[-1]) <= buffer.size
        else:
            stored, ends = self._packers[number].packed(content, before, buffer.reach)
            begins, lengths, offset = np.append(0, ends[:-1]), np.diff(ends, prepend=0), self._end
            self._end += len(stored)
        if len(stored):
            self._place(offset, pa.py_buffer(stored))
        is_stored = lengths > 0
        table.offset[:, number], table.length[:, number] = np.where(is_stored, begins + offset, 0), lengths
        table.crc32c[:, number] = np.where(is_stored, checksums(stored, begins, lengths), 0)


def _filters(hashes: NDArray[np.uint64], cuts: Indices) -> Bytes:
    out = np.zeros(filter_room(len(hashes), len(cuts) - 1), np.uint8)
    ends = np.empty(len(cuts) - 1, np.int64)
    build_filters(hashes, cuts, out, ends)
    return Bytes(out, np.append(0, ends), np.arange(len(cuts)))


def _size(role: Role, width: int, rows: int, data: int) -> int:
    """The most bytes that a buffer has."""
    return data if role is Role.DATA else size_of(role, width, rows)
