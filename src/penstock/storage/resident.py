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
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import CorruptionError
from penstock.storage.block_index import BlockIndex, Codec, Role
from penstock.storage.block_layout import children_of, has_offsets
from penstock.storage.chunk_reader import ChunkReader
from penstock.storage.filters import may_hold
from penstock.storage.pool import Pool
from penstock.storage.source import Range, Source
from penstock.zset.width import concat

__all__ = ["FILTERS", "OTHERS", "SEARCHED", "Derive", "ResidentColumns"]

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

Derive = Callable[[Sequence[pa.Array], int], Sequence[NDArray[np.uint64] | None]]
"""Computes the derived columns from the values, in the order of the schema."""

SEARCHED, OTHERS, FILTERS = 0, 1, 2
"""The parts of a block."""
_AT_ONCE = 64
"""Blocks whose derived columns are computed in one call."""
_EDGES = {Role.OFFSETS: 8, Role.VALIDITY: 1, Role.BITS: 1}
_ABSENT, _RESIDENT, _USED = 0, 1, 2
_WINDOW = np.uint64(64 << 10)
"""How much of a mapped file the system maps when a byte of it is read."""
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
        origin: str = "",
    ) -> None:
        """``origin`` is what errors say of the batch besides the name of the file."""
        self.name, self.index, self._searched, self._origin = source.name, index, searched, origin
        self._pool, self._source, self._derive = pool, source, derive
        self.is_remote = source.is_remote
        content = None if copies else source.content
        self._in_place = [content is not None and b.codec is Codec.PLAIN for b in index.buffers]
        self._memory: list[pa.Buffer] = [
            content.slice(b.offset, b.size) if content is not None and in_place else _reserved(b.size)
            for b, in_place in zip(index.buffers, self._in_place, strict=True)
        ]
        self._chunks = ChunkReader(source, index, content, origin)
        self._parts: list[list[int]] = [[], [], []]
        self._derived: list[int] = []
        for number, buffer in enumerate(index.buffers):
            is_searched = index.schema.names[buffer.column] in searched
            part = FILTERS if buffer.role is Role.FILTER else SEARCHED if is_searched else OTHERS
            self._parts[part].append(number)
            if buffer.codec is Codec.DERIVED:
                self._derived.append(number)
        self.state: NDArray[np.uint8] = np.zeros((len(self._parts), index.blocks), np.uint8)
        sizes = index.chunks.size.astype(np.int64)
        self._bytes = [sizes[:, numbers].sum(axis=1) for numbers in self._parts]
        self._absent = [index.blocks] * len(self._parts)
        self._held = 0
        self.columns: list[pa.Array] = list(self._arrays())
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
        if self._source.is_mapped and self._pool.is_short_for(self._source.size):
            self._pool.mapped(self._mapped_bytes(part, blocks))
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

    def _mapped_bytes(self, part: int, blocks: Indices) -> int:
        """About how much of the mapped file reading these blocks brings into memory."""
        offsets = self.index.chunks.offset[blocks[:, None], np.asarray(self._stored(part), np.int64)]
        return len(np.unique(offsets // _WINDOW)) * int(_WINDOW)

    def _stored(self, part: int) -> list[int]:
        """The buffers of a part that are in the file."""
        return [number for number in self._parts[part] if number not in self._derived]

    def _ranges(self, numbers: Sequence[int], blocks: Indices) -> list[Range]:
        """Where the chunks of some buffers are, buffer by buffer, except empty ones."""
        table, columns = self.index.chunks, np.asarray(numbers, np.int64)[:, None]
        offsets, lengths = table.offset[blocks, columns].ravel(), table.length[blocks, columns].ravel()
        stored = lengths > 0
        return list(zip(offsets[stored].tolist(), lengths[stored].tolist(), strict=True))

    def _fill(self, part: int, blocks: Indices) -> None:
        if any(number in self._derived for number in self._parts[part]):
            self.need(OTHERS, blocks)
            self._fill_derived(blocks)
        stored = self._fill_stored(self._stored(part), blocks)
        held = int(self._bytes[part][blocks].sum())
        self._held += held
        self._absent[part] -= len(blocks)
        self.state[part][blocks] = _RESIDENT
        self._pool.read(len(blocks), stored, held)

    def _fill_stored(self, numbers: Sequence[int], blocks: Indices) -> int:
        """Requests the chunks of all these buffers, unless they are there already, then takes one buffer
        after the other."""
        offsets = self.index.chunks.offset[blocks[:, None], np.asarray(numbers, np.int64)]
        if self._source.is_cold(offsets):
            self._source.prefetch(self._ranges(numbers, blocks))
        return sum(self._chunks.fill(number, blocks, self._target(number)) for number in numbers)

    def _target(self, number: int) -> NDArray[np.uint8] | None:
        """Where a buffer's chunks are unpacked to; None if they are used where they are."""
        if self._in_place[number]:
            return None
        return np.frombuffer(self._memory[number], np.uint8, self.index.buffers[number].size)

    def _fill_derived(self, blocks: Indices) -> None:
        """Computes the columns that are not stored from the values."""
        values = [self.columns[i] for i, name in enumerate(self.index.schema.names) if name.startswith("v")]
        if self._derive is None:
            raise CorruptionError(f"{self.name}: words of rows are not stored, and nothing computes them")
        for some in np.split(blocks, range(_AT_ONCE, len(blocks), _AT_ONCE)):
            spans = [self.index.rows_of(block) for block in some.tolist()]
            sizes = [stop - start for start, stop in spans]
            parts = [concat([value.slice(start, stop - start) for start, stop in spans]) for value in values]
            found = [word for word in self._derive(parts, sum(sizes)) if word is not None]
            starts = np.append(0, np.cumsum(sizes))
            self._check_derived(some, found[0][starts[:-1]])
            for number, word in zip(self._derived, found, strict=True):
                memory = np.frombuffer(self._memory[number], np.uint64, self.index.rows)
                for (start, stop), at in zip(spans, starts.tolist(), strict=False):
                    memory[start:stop] = word[at : at + stop - start]

    def _check_derived(self, blocks: Indices, first: NDArray[np.uint64]) -> None:
        """The index has the first word of each block, so values or hashes that are others now are noticed."""
        wrong = blocks[first != self.index.first_words[blocks]]
        if len(wrong):
            raise CorruptionError(
                f"{self.name}: block {int(wrong[0])} is damaged, or was written with another hash: the words "
                f"of its rows are not those that its index says{self._origin}"
            )

    @property
    def has_filters(self) -> bool:
        """Whether blocks have filters over their keys."""
        return bool(self._parts[FILTERS])

    def may_hold(self, low: Words, high: Words, hashes: Words) -> NDArray[np.bool_]:
        """Whether there may be rows with each hash among those with words between ``low`` and ``high`` (both
        inclusive), as far as filters tell, which must have been asked for."""
        (number,) = self._parts[FILTERS]
        filters, table = np.frombuffer(self._memory[number], np.uint8), self.index.chunks
        starts, sizes = (part[:, number].astype(np.int64) for part in (table.start, table.size))
        found = np.empty(len(low), np.bool_)
        may_hold(self.index.first_words, low, high, hashes, filters, starts, sizes, found)
        return found

    def stored_rows(self) -> pa.RecordBatch:
        """All rows, in the columns that are stored."""
        every = np.arange(self.index.blocks)
        for part in range(len(self._parts)):
            self._fill_stored(self._stored(part), every)
        names = self.index.schema.names
        derived = {self.index.buffers[number].column for number in self._derived}
        stored = [column for column in range(len(names)) if column not in derived]
        return pa.RecordBatch.from_arrays([self.columns[i] for i in stored], [names[i] for i in stored])

    def private(self, pool: Pool) -> ResidentColumns:
        """The same columns for a reader in another thread, with a residency and a pool of their own."""
        return ResidentColumns(
            self._source,
            self.index,
            pool,
            searched=self._searched,
            derive=self._derive,
            origin=self._origin,
        )

    # ---- dropping ---------------------------------------------------------------------------------

    def sweep(self, *, in_place: bool) -> tuple[int, int]:
        """Drops what was not used since the last sweep (see :class:`penstock.storage.pool.Evictable`)."""
        blocks = size = 0
        for part, numbers in enumerate(self._parts):
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
                reserved = [number for number in numbers if not self._in_place[number]]
                if self._absent[part] == self.index.blocks:
                    self._release_all(reserved)
                else:
                    self._release(reserved, dropped)
        self._held -= size
        return blocks, size

    def drop_pages(self) -> None:
        """Gives back all pages of the mapped file (see :class:`penstock.storage.pool.Evictable`)."""
        content = self._source.content
        if self._source.is_mapped and content is not None:
            _give_back(content.address, content.address + content.size)

    def _release(self, numbers: Sequence[int], blocks: Indices) -> None:
        """Gives the memory of whole runs of blocks back. Pages of a mapped file are dropped by
        :meth:`drop_pages` instead: a call for each of thousands of chunks would cost more than reading
        them."""
        starts = blocks[np.concatenate(([True], np.diff(blocks) != 1))]
        stops = blocks[np.concatenate((np.diff(blocks) != 1, [True]))]
        table = self.index.chunks
        for number in numbers:
            memory = self._memory[number]
            # Blocks share what is at their edges: an offset, or a byte of the bits of list elements.
            edge = _EDGES.get(self.index.buffers[number].role, 0)
            for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
                start = int(table.start[first, number])
                stop = int(table.start[last, number] + table.size[last, number])
                _give_back(memory.address + start + edge, memory.address + stop - edge)

    def _release_all(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            memory = self._memory[number]
            _give_back(memory.address, memory.address + memory.size)

    # ---- arrays -----------------------------------------------------------------------------------

    def _arrays(self) -> Iterator[pa.Array]:
        """The columns, whose buffers are the memory of this batch."""
        by_node: dict[int, list[int]] = {}
        for number, buffer in enumerate(self.index.buffers):
            if buffer.role is not Role.FILTER:
                by_node.setdefault(buffer.node, []).append(number)
        nodes = count()
        for name, kind in zip(self.index.schema.names, self.index.schema.types, strict=True):
            try:
                yield self._array(kind, self.index.rows, nodes, by_node)
            except pa.ArrowInvalid as error:  # it looks at the first and the last offset
                raise CorruptionError(
                    f"{self.name}: column {name} is damaged: {error}{self._origin}"
                ) from error

    def _array(
        self, kind: pa.DataType, rows: int, nodes: Iterator[int], of: dict[int, list[int]]
    ) -> pa.Array:
        numbers = of.get(next(nodes), [])
        if pa.types.is_null(kind):
            return pa.nulls(rows)
        buffers: list[pa.Buffer | None] = [None]
        nulls = reach = 0
        for number in numbers:
            buffer = self.index.buffers[number]
            nulls, reach = buffer.nulls, max(reach, buffer.reach)
            if buffer.role is Role.VALIDITY:
                buffers[0] = self._memory[number]
            else:
                buffers.append(self._memory[number])
        length = reach if has_offsets(kind) else rows
        children = [self._array(child.type, length, nodes, of) for child in children_of(kind)]
        # Arrow would count NULLs by reading all of the bits.
        return pa.Array.from_buffers(kind, rows, buffers, null_count=nulls, children=children or None)


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
