"""The index of a batch on file: where its blocks are, and what each one must hash to.

A *blocked* batch is cut into blocks of ``block_rows`` rows (the last one may have fewer). Every column
consists of one or more *buffers* (validity bits, fixed-width values, offsets, bytes), and the part of a
buffer that belongs to one block is a *chunk*: the unit that is read, checked and decompressed. The index has,
for every chunk, its position in the file and its checksum, and, for every block, the first order word. So
finding a key touches the blocks that may hold it, and opening a batch touches none.

``start`` and ``size`` give the position of a chunk in its buffer, as if the blocks' buffers were
concatenated: that is how a reader lays them out in memory, so a batch has one contiguous array per column
whatever its size. Chunks of plain buffers are laid out that way in the file too, and can be used in the
mapped file. Columns with nested types have the buffers of all their types; the elements of a block's lists
are contiguous, because rows are in order.

The index takes 36 bytes for each chunk. It is checked as a whole, by the entry of the segment.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["BlockIndex", "Buffer", "ChunkTable", "Codec", "Role"]

Words = NDArray[np.uint64]

_HEAD = struct.Struct("<QIIIIQ")  # rows, rows in a block, blocks, buffers, bytes of the schema, last word
_BUFFER = struct.Struct("<IIBBB5xQQQQ")  # column, node, role, width, codec, offset, bytes, nulls, reach


class Role(IntEnum):
    """What a buffer of a column holds."""

    VALIDITY = 0
    BITS = 1
    FIXED = 2
    OFFSETS = 3
    DATA = 4
    FILTER = 5
    """Filters over the column's hashes (:mod:`.filters`)."""


class Codec(IntEnum):
    """How a buffer's chunks are stored."""

    PLAIN = 0
    """As they are used, one after the other: usable where they lie."""
    PACKED = 1
    """Encoded, each chunk as suits its values (:mod:`.encodings`)."""
    DERIVED = 2
    """Not stored: computed from the values."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer of a column. ``node`` is the type that it belongs to: types are numbered depth first over
    all columns, so a column without nested types is one node. ``offset`` is the position of a plain buffer in
    the file, ``size`` its bytes (at most; the blocks may need fewer), ``nulls`` the number of NULLs of the
    node, and ``reach`` the last of its offsets, if they are offsets."""

    column: int
    node: int
    role: Role
    width: int
    codec: Codec
    offset: int
    size: int
    nulls: int
    reach: int


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """A row for every block, a column for every buffer: position in the buffer, position in the file, and
    checksum of the stored bytes."""

    start: Words
    size: Words
    offset: Words
    length: Words
    crc32c: NDArray[np.uint32]

    @property
    def stored(self) -> int:
        """The bytes of all chunks."""
        return int(self.length.sum())


@dataclass(frozen=True, slots=True, eq=False)
class BlockIndex:
    """The index of one batch of ``rows`` rows in the Arrow schema ``schema``."""

    rows: int
    block_rows: int
    last_word: int
    schema: pa.Schema
    buffers: tuple[Buffer, ...]
    first_words: Words
    chunks: ChunkTable

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self.first_words)

    def rows_of(self, block: int) -> tuple[int, int]:
        """The first row of a block, and the one past its last."""
        return block * self.block_rows, min(self.rows, (block + 1) * self.block_rows)

    def encode(self) -> bytes:
        """As it is stored (docs/formats.md)."""
        schema = self.schema.serialize().to_pybytes()
        head = _HEAD.pack(
            self.rows, self.block_rows, self.blocks, len(self.buffers), len(schema), self.last_word
        )
        buffers = b"".join(
            _BUFFER.pack(b.column, b.node, b.role, b.width, b.codec, b.offset, b.size, b.nulls, b.reach)
            for b in self.buffers
        )
        table = self.chunks
        words = (self.first_words, table.start, table.size, table.offset, table.length)
        return b"".join((head, buffers, *(w.tobytes() for w in words), table.crc32c.tobytes(), schema))

    @staticmethod
    def decode(content: pa.Buffer) -> BlockIndex:
        """The inverse. Raises ValueError if the content is too short, or not an index."""
        rows, block_rows, blocks, count, schema_size, last = _HEAD.unpack_from(content)
        at = _HEAD.size
        buffers = []
        for _ in range(count):
            column, node, role, width, codec, *rest = _BUFFER.unpack_from(content, at)
            buffers.append(Buffer(column, node, Role(role), width, Codec(codec), *rest))
            at += _BUFFER.size
        words = np.frombuffer(content, np.uint64, blocks * (1 + 4 * count), at)
        at += words.nbytes
        crcs = np.frombuffer(content, np.uint32, blocks * count, at).reshape(blocks, count)
        at += crcs.nbytes
        tables = words[blocks:].reshape(4, blocks, count)
        schema = pa.ipc.read_schema(content.slice(at, schema_size))
        chunks = ChunkTable(tables[0], tables[1], tables[2], tables[3], crcs)
        return BlockIndex(rows, block_rows, last, schema, tuple(buffers), words[:blocks], chunks)
