"""The columns of a batch on file, as contiguous arrays whose blocks are filled when they are asked for.

Every buffer of a batch has one address range, as long as the buffer. Plain buffers are the mapped file
itself; for the others memory is reserved, which costs nothing before it is used. A block is *resident* if its
chunks have been checked and, where they are compressed, unpacked in place. Readers must ask for blocks first
(:meth:`ResidentColumns.need`); then they use the arrays as if everything were in memory, with the same
compiled loops. Dropping a block gives its pages back to the system (``madvise``): the address range stays.

Invariant: bytes that were not asked for are never interpreted. A mapped block may hold damage that nobody has
looked for, and a reserved one holds zeros.

Checking happens when a block becomes resident, and again when it does so after it was dropped: what a flipped
bit in the file does to a block that stays resident cannot be noticed before.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import CorruptionError
from penstock.storage.block_index import BlockIndex, Buffer, Codec, Role
from penstock.storage.checksum import crc32c
from penstock.storage.pool import Pool
from penstock.storage.source import Range, Source

__all__ = ["OTHERS", "SEARCHED", "Derive", "ResidentColumns"]

Indices = NDArray[np.int64]
Flags = NDArray[np.uint8]

Derive = Callable[[Sequence[pa.Array], int], Sequence[NDArray[np.uint64] | None]]
"""Computes the derived columns from the values, in the order of the schema."""

SEARCHED, OTHERS = 0, 1
"""The parts of a block."""
_ABSENT, _RESIDENT, _USED = 0, 1, 2
_DONTNEED = 4
_NOHUGEPAGE = 15
_NORESERVE = 0x4000 if sys.platform.startswith("linux") else 0  # Python 3.13 has a name for it


class ResidentColumns:
    """The columns of one batch. Plain buffers are used in the file where ``source`` has it in place, unless
    ``copies`` are wanted; elsewhere they are copied from what is read."""

    def __init__(
        self,
        source: Source,
        index: BlockIndex,
        pool: Pool,
        *,
        searched: Collection[str],
        derive: Derive | None = None,
        copies: bool = False,
    ) -> None:
        self.name, self.index, self._searched = source.name, index, searched
        self._pool, self._source, self._derive = pool, source, derive
        self.is_remote = source.is_remote
        content = None if copies else source.content
        self._in_place = [content is not None and b.codec is Codec.PLAIN for b in index.buffers]
        self._memory: list[pa.Buffer] = [
            content.slice(b.offset, b.size) if content is not None and in_place else _reserved(b.size)
            for b, in_place in zip(index.buffers, self._in_place, strict=True)
        ]
        self._of_column = [
            [i for i, buffer in enumerate(index.buffers) if buffer.column == column]
            for column in range(len(index.schema))
        ]
        names = index.schema.names
        self._parts = (
            [column for column, name in enumerate(names) if name in searched],
            [column for column, name in enumerate(names) if name not in searched],
        )
        self._derived = [
            column
            for column, numbers in enumerate(self._of_column)
            if any(index.buffers[number].codec is Codec.DERIVED for number in numbers)
        ]
        self.state: NDArray[np.uint8] = np.zeros((2, index.blocks), np.uint8)
        self._bytes = self._bytes_of_chunks()
        self._absent = [index.blocks, index.blocks]
        self._held = 0
        self.columns: list[pa.Array] = [self._array(column) for column in range(len(index.schema))]
        pool.join(self)

    def __del__(self) -> None:
        if getattr(self, "_held", 0):
            self._pool.left(self._held)

    @property
    def resident_bytes(self) -> int:
        """The bytes of its resident chunks."""
        return self._held

    def is_resident(self, part: int) -> bool:
        """Whether all blocks are there, and none is going to be dropped soon."""
        return self._absent[part] == 0 and self._pool.is_calm

    # ---- filling ----------------------------------------------------------------------------------

    def need(self, part: int, blocks: Indices) -> None:
        """Makes a part (``SEARCHED`` or ``OTHERS``) of the blocks, each named at most once, resident."""
        self._pool.trim(in_place=True)
        state = self.state[part]
        absent = blocks[state[blocks] == _ABSENT]
        if len(absent):
            self._fill(part, absent)
        state[blocks] = _USED
        self._pool.found(len(blocks) - len(absent))

    def prefetch(self, part: int, blocks: Indices) -> None:
        """Starts to read a part of the blocks, which will be needed soon."""
        absent = blocks[self.state[part][blocks] == _ABSENT]
        if len(absent):
            self._source.prefetch(self._ranges(self._stored(part), absent))

    def _stored(self, part: int) -> list[int]:
        """The buffers of a part that are in the file."""
        columns = (column for column in self._parts[part] if column not in self._derived)
        return [number for column in columns for number in self._of_column[column]]

    def _ranges(self, numbers: Sequence[int], blocks: Indices) -> list[Range]:
        """Where the chunks of some buffers are, buffer by buffer, except empty ones."""
        table, columns = self.index.chunks, np.asarray(numbers, np.int64)[:, None]
        offsets, lengths = table.offset[blocks, columns].ravel(), table.length[blocks, columns].ravel()
        stored = lengths > 0
        return list(zip(offsets[stored].tolist(), lengths[stored].tolist(), strict=True))

    def _fill(self, part: int, blocks: Indices) -> None:
        if any(column in self._derived for column in self._parts[part]):
            self.need(OTHERS, blocks)
            self._fill_derived(blocks)
        stored = self._fill_stored(self._stored(part), blocks)
        held = int(self._bytes[part][blocks].sum())
        self._held += held
        self._absent[part] -= len(blocks)
        self.state[part][blocks] = _RESIDENT
        self._pool.read(len(blocks), stored, held)

    def _fill_stored(self, numbers: Sequence[int], blocks: Indices) -> int:
        """Requests the chunks of all these buffers, then takes one after the other."""
        contents = self._source.read_all(self._ranges(numbers, blocks))
        return sum(self._fill_chunks(number, blocks, contents) for number in numbers)

    def _fill_chunks(self, number: int, blocks: Indices, contents: Iterator[pa.Buffer]) -> int:
        buffer, table = self.index.buffers[number], self.index.chunks
        target = None if self._in_place[number] else np.frombuffer(self._memory[number], np.uint8)
        lengths = table.length[blocks, number].tolist()
        wanted = table.crc32c[blocks, number].tolist()
        for block, length, crc in zip(blocks.tolist(), lengths, wanted, strict=True):
            if length == 0:
                continue
            content = next(contents)
            found = crc32c([content])
            if found != crc or content.size != length:
                raise self._damaged(block, buffer, f"its checksum is {found:08x}, {crc:08x} was written")
            if target is not None:
                start, size = int(table.start[block, number]), int(table.size[block, number])
                target[start : start + size] = self._unpacked(block, buffer, content, size)
        return int(sum(lengths))

    def _unpacked(self, block: int, buffer: Buffer, content: pa.Buffer, size: int) -> NDArray[np.uint8]:
        if buffer.codec is Codec.PLAIN:
            return np.frombuffer(content, np.uint8)
        try:
            plain = pa.Codec("zstd").decompress(content, size)
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(block, buffer, f"it cannot be unpacked: {error}") from error
        if buffer.codec is Codec.ZSTD:
            return np.frombuffer(plain, np.uint8)
        words = np.cumsum(np.frombuffer(plain, f"u{buffer.width}"), dtype=f"u{buffer.width}")
        return words.view(np.uint8)

    def _fill_derived(self, blocks: Indices) -> None:
        """Computes the columns that are not stored from the values."""
        values = [self.columns[i] for i, name in enumerate(self.index.schema.names) if name.startswith("v")]
        if self._derive is None:
            raise CorruptionError(f"{self.name}: words of rows are not stored, and nothing computes them")
        for block in blocks.tolist():
            start, stop = self.index.rows_of(block)
            found = self._derive([value.slice(start, stop - start) for value in values], stop - start)
            words = [word for word in found if word is not None]
            for target, word in zip(self._derived, words, strict=True):
                memory = np.frombuffer(self._memory[self._of_column[target][0]], np.uint64)
                memory[start:stop] = word

    def _damaged(self, block: int, buffer: Buffer, reason: str) -> CorruptionError:
        column = self.index.schema.names[buffer.column]
        where = self.index.chunks.offset[block, self.index.buffers.index(buffer)]
        return CorruptionError(
            f"{self.name}: block {block}, column {column} ({buffer.role.name.lower()}, from byte {where} on) "
            f"is damaged: {reason}"
        )

    def stored_rows(self) -> pa.RecordBatch:
        """All rows, in the columns that are stored."""
        every = np.arange(self.index.blocks)
        for part in (SEARCHED, OTHERS):
            self._fill_stored(self._stored(part), every)
        names = self.index.schema.names
        stored = [column for column in range(len(names)) if column not in self._derived]
        return pa.RecordBatch.from_arrays([self.columns[i] for i in stored], [names[i] for i in stored])

    def private(self, pool: Pool) -> ResidentColumns:
        """The same columns for a reader in another thread, with a residency and a pool of their own."""
        return ResidentColumns(self._source, self.index, pool, searched=self._searched, derive=self._derive)

    # ---- dropping ---------------------------------------------------------------------------------

    def sweep(self, *, in_place: bool) -> tuple[int, int]:
        """Drops what was not used since the last sweep (see :class:`penstock.storage.pool.Evictable`)."""
        blocks = size = 0
        for part, columns in enumerate(self._parts):
            numbers = [number for column in columns for number in self._of_column[column]]
            if in_place and not all(self._in_place[number] for number in numbers):
                continue
            state = self.state[part]
            dropped = np.flatnonzero(state == _RESIDENT)
            state[state == _USED] = _RESIDENT
            if len(dropped):
                blocks += len(dropped)
                size += int(self._bytes[part][dropped].sum())
                self._absent[part] += len(dropped)
                state[dropped] = _ABSENT
                self._release(numbers, dropped)
        self._held -= size
        return blocks, size

    def _release(self, numbers: Sequence[int], blocks: Indices) -> None:
        """Gives the pages of whole runs of blocks back."""
        starts = blocks[np.concatenate(([True], np.diff(blocks) != 1))]
        stops = blocks[np.concatenate((np.diff(blocks) != 1, [True]))]
        table = self.index.chunks
        for number in numbers:
            memory = self._memory[number]
            if self._in_place[number] and not self._source.is_mapped:
                continue
            for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
                start = int(table.start[first, number])
                stop = int(table.start[last, number] + table.size[last, number])
                _give_back(memory.address + start, memory.address + stop)

    # ---- arrays -----------------------------------------------------------------------------------

    def _array(self, column: int) -> pa.Array:
        kind, rows = self.index.schema.types[column], self.index.rows
        if pa.types.is_null(kind):
            return pa.nulls(rows)
        buffers: list[pa.Buffer | None] = [None]
        nulls = 0
        for number in self._of_column[column]:
            buffer = self.index.buffers[number]
            nulls = buffer.nulls
            if buffer.role is Role.VALIDITY:
                buffers[0] = self._memory[number]
            else:
                buffers.append(self._memory[number])
        # Arrow would count NULLs by reading all of the bits.
        return pa.Array.from_buffers(kind, rows, buffers, null_count=nulls)

    def _bytes_of_chunks(self) -> list[NDArray[np.int64]]:
        """For both parts, the bytes of each block."""
        sizes = self.index.chunks.size.astype(np.int64)
        return [
            sizes[:, [number for column in columns for number in self._of_column[column]]].sum(axis=1)
            for columns in self._parts
        ]


def _reserved(size: int) -> pa.Buffer:
    """Memory that is zero and takes no space until it is written to."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    buffer = pa.py_buffer(mmap.mmap(-1, max(1, size), flags=flags))
    _advise(buffer.address, buffer.address + size, _NOHUGEPAGE)
    return buffer


def _give_back(start: int, stop: int) -> None:
    """Drops the whole pages between two addresses. Pages that they share with others stay."""
    page = mmap.PAGESIZE
    _advise(-(-start // page) * page, stop // page * page, _DONTNEED)


def _advise(start: int, stop: int, advice: int) -> None:
    if _madvise is not None and stop > start:
        _madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), ctypes.c_int(advice))


def _find_madvise() -> Any:
    if not sys.platform.startswith("linux"):
        return None  # elsewhere the advice has other meanings
    return ctypes.CDLL(None, use_errno=True).madvise


_madvise = _find_madvise()
