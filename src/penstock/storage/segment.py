"""Segment files: many record batches with their metadata in one immutable, checksummed, mappable file.

Layout (docs/formats.md has every byte)::

    header 64 B | entry 0 | entry 1 | … | footer JSON | trailer 64 B

An entry is a small batch as one Arrow stream, read and checked as a whole, or a large one in blocks with an
index (:mod:`.block_index`), of which only the index is checked when it is opened.

Invariant: all data is under some CRC32C, and everything starts at a multiple of 64, so what is not compressed
is used in the mapping. The footer tells what each entry held, so damage is reported in those terms. It also
has the segment's name, which is unique (it ends in random digits), so one sound segment in the place of
another is found; and whoever refers to an entry can say which checksum it expects.

A worker writes one segment per commit with the new batches of all its operators, and one with the changes of
its views: two syncs each, whatever the number of batches. Writing copies nothing; memory is that of the
batches added, which are held until ``finish``. :mod:`.segment_draft` writes one batch piece by piece instead.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from penstock.errors import CorruptionError, StorageError
from penstock.storage import strict_json
from penstock.storage.block import decode_batch, encode_batch
from penstock.storage.block_form import BlockForm
from penstock.storage.block_index import BlockIndex
from penstock.storage.block_writer import BlockWriter, bounds_of_rows
from penstock.storage.checksum import ALIGNMENT, HEADER_SIZE, crc32c, seal, unseal
from penstock.storage.interface import Backend, Part, to_buffer
from penstock.storage.pool import Pool
from penstock.storage.resident import Derive, ResidentColumns
from penstock.storage.source import Source

__all__ = [
    "READERS",
    "SEGMENT_FORMAT",
    "Entry",
    "Segment",
    "SegmentWriter",
    "blocks_entry",
    "segment_end",
    "segment_start",
]

SEGMENT_FORMAT = 2
"""The format that is written."""
_MAGIC = b"PENSTSEG"
_HEADER = struct.Struct("<8sI")  # magic, format version
_TRAILER = struct.Struct("<8sIQQI")  # magic, format version, footer offset, footer length, footer crc


@dataclass(frozen=True)
class Entry:
    """The footer's record of one batch: its kind, position and checksum. The ``index`` of one in blocks is at
    that offset, up to the end of the entry, and the checksum is that of the index."""

    kind: str
    meta: Mapping[str, object]
    offset: int
    length: int
    crc32c: int
    rows: int
    index: int | None = None

    def describe(self) -> str:
        where = f"bytes {self.offset} to {self.offset + self.length}"
        return f"{self.kind} {dict(self.meta)}, {self.rows} rows, {where}"


class SegmentWriter:
    """Collects batches and publishes them as one segment. Nothing is written before ``finish``."""

    def __init__(self, backend: Backend, name: str) -> None:
        self.name = name
        self._backend = backend
        self._parts: list[pa.Buffer] = [to_buffer(segment_start())]
        self._entries: list[Entry] = []
        self._size = HEADER_SIZE
        self._finished = False

    @property
    def entries(self) -> int:
        """How many batches were added."""
        return len(self._entries)

    @property
    def size(self) -> int:
        """Bytes so far; after ``finish`` the length of the file."""
        return self._size

    def add(self, kind: str, meta: Mapping[str, object], batch: pa.RecordBatch) -> int:
        """Append a batch of any schema; returns the number to ``read`` it by. ``meta`` must be JSON."""
        if self._finished:
            raise StorageError(f"{self.name} is finished; a segment never changes")
        number = len(self._entries)
        # Kept as JSON holds it: what a reader will see, and safe from later changes by the caller.
        kept = strict_json.decode(strict_json.encode(dict(meta), f"{self.name}, block {number}"))
        assert isinstance(kept, dict)
        parts = encode_batch(batch)
        length = sum(part.size for part in parts)
        self._entries.append(Entry(kind, kept, self._size, length, crc32c(parts), batch.num_rows))
        self._parts += parts
        self._size += length
        return number

    def add_blocks(
        self, kind: str, meta: Mapping[str, object], batch: pa.RecordBatch, form: BlockForm
    ) -> int:
        """The same as blocks, of a batch that can be stored like that."""
        number = len(self._entries)
        placed: list[tuple[int, Part]] = []
        writer = BlockWriter(
            batch.schema, bounds_of_rows(batch), form, self._size, lambda *at: placed.append(at)
        )
        writer.add(batch)
        entry, index = blocks_entry(self.name, number, kind, meta, self._size, writer)
        reached = self._size
        for offset, part in sorted(placed, key=lambda each: each[0]):
            buffer = to_buffer(part)
            if offset < reached:  # the first offset of a block is the last one of the block before
                buffer, offset = buffer.slice(reached - offset), reached
            self._parts += [_zeros(offset - reached), buffer]
            reached = offset + buffer.size
        assert entry.index is not None
        self._parts += [_zeros(entry.index - reached), index]
        self._entries.append(entry)
        self._size += entry.length
        return number

    def checksum(self, number: int) -> int:
        """The checksum that a reference to a batch can tell a reader to expect."""
        return self._entries[number].crc32c

    def finish(self) -> None:
        """Publish the segment, durably. If it raises, write the batches again under a new name."""
        if self._finished:
            raise StorageError(f"{self.name} is finished; a segment never changes")
        end = segment_end(self.name, self._size, self._entries)
        self._backend.write_new(self.name, [*self._parts, end])
        self._finished = True
        self._parts.clear()
        self._size += len(end)


def segment_start() -> bytes:
    """The header of a segment."""
    return seal(_HEADER.pack(_MAGIC, SEGMENT_FORMAT))


def segment_end(name: str, offset: int, entries: Sequence[Entry]) -> bytes:
    """Footer and trailer of a segment whose entries end at ``offset``."""
    index = {"name": name, "entries": [_without_none(asdict(entry)) for entry in entries]}
    footer = strict_json.encode(index, name)
    footer += b" " * (-len(footer) % ALIGNMENT)
    return footer + seal(_TRAILER.pack(_MAGIC, SEGMENT_FORMAT, offset, len(footer), crc32c([footer])))


def blocks_entry(
    name: str, number: int, kind: str, meta: Mapping[str, object], offset: int, writer: BlockWriter
) -> tuple[Entry, pa.Buffer]:
    """Finishes a batch in blocks that begins at ``offset``: its entry, and its index, padded."""
    index, end = writer.finish()
    content = index.encode()
    content += bytes(-len(content) % ALIGNMENT)
    kept = strict_json.decode(strict_json.encode(dict(meta), f"{name}, entry {number}"))
    assert isinstance(kept, dict)
    length = end + len(content) - offset
    return Entry(kind, kept, offset, length, crc32c([content]), index.rows, end), to_buffer(content)


def _without_none(entry: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if value is not None}


def _zeros(size: int) -> pa.Buffer:
    return to_buffer(bytes(size))


class Segment:
    """A published segment. Where files are used in place, batches read from it keep its content alive, even
    after the file is deleted; elsewhere blocks can be read only as long as the file exists."""

    def __init__(self, source: Source, entries: tuple[Entry, ...], *, format: int = SEGMENT_FORMAT) -> None:
        self.name, self._source = source.name, source
        self.entries = entries
        self.format = format
        self._checked: set[int] = set()

    @classmethod
    def open(cls, backend: Backend, name: str) -> Segment:
        """Check and read everything but the blocks."""
        source = Source(backend, name)
        number = _format_of(source)
        if number not in READERS:
            raise StorageError(
                f"{name}: segment format {number} is not known to this version of Penstock "
                f"(it reads {' and '.join(map(str, sorted(READERS)))}); a newer one wrote the file"
            )
        return READERS[number](source)

    def expect(self, number: int, checksum: int | None) -> None:
        """Raise unless there is such a block with this checksum (None: any; older references have none)."""
        if number >= len(self.entries):
            raise CorruptionError(
                f"{self.name}: block {number} is referred to, and the file has {len(self.entries)}; it is "
                "not the file that was written under this name"
            )
        entry = self.entries[number]
        if checksum is not None and entry.crc32c != checksum:
            reason = f"it has the checksum {entry.crc32c:08x}, and {checksum:08x} is referred to"
            raise _damaged(self.name, number, entry, f"{reason}; it is not the file that was written")

    def read(self, number: int) -> pa.RecordBatch:
        """The batch, as a view of the mapped file. Its checksum is compared the first time. One in blocks is
        unpacked as a whole, without columns that are not stored."""
        entry = self.entries[number]
        if entry.index is not None:
            return self._all_blocks(number, self._source)
        block = self._source.read(entry.offset, entry.length)
        if number not in self._checked:
            self._check(number, block)
            if self._source.content is not None:
                self._checked.add(number)
        return self._decode(number, block)

    def columns(
        self, number: int, pool: Pool, *, searched: Collection[str], derive: Derive | None = None
    ) -> ResidentColumns:
        """The columns of a batch in blocks, none of which has been read. Its index is checked."""
        return ResidentColumns(
            self._source,
            self._index(number),
            pool,
            searched=searched,
            derive=derive,
            origin=self._origin(number),
        )

    def read_copy(self, backend: Backend, number: int) -> pa.RecordBatch:
        """The batch in memory of its own, always checked; without columns that are not stored. For a reader
        that has to survive a failing disk: an error while reading names the file, where a mapping would end
        the process."""
        entry = self.entries[number]
        source = Source(backend, self.name, in_place=False)
        if entry.index is not None:
            return self._all_blocks(number, source)
        block = source.read(entry.offset, entry.length)
        self._check(number, block)
        return self._decode(number, block)

    def copied_columns(
        self, backend: Backend, number: int, pool: Pool, *, searched: Collection[str]
    ) -> ResidentColumns:
        """The same as :meth:`columns`, but blocks are copied into memory, as by :meth:`read_copy`."""
        return self._copied(number, pool, Source(backend, self.name, in_place=False), searched)

    def _all_blocks(self, number: int, source: Source) -> pa.RecordBatch:
        return self._copied(number, Pool(), source, ()).stored_rows()

    def _copied(self, number: int, pool: Pool, source: Source, searched: Collection[str]) -> ResidentColumns:
        index, origin = self._index(number), self._origin(number)
        return ResidentColumns(source, index, pool, searched=searched, copies=True, origin=origin)

    def _origin(self, number: int) -> str:
        """What errors about a block say of its entry."""
        return f" (in entry {number}: {self.entries[number].describe()})"

    def _index(self, number: int) -> BlockIndex:
        entry = self.entries[number]
        assert entry.index is not None
        content = self._source.read(entry.index, entry.offset + entry.length - entry.index)
        self._check(number, content)
        try:
            index = BlockIndex.decode(content)
        except (ValueError, struct.error, pa.ArrowInvalid) as error:
            raise _damaged(self.name, number, entry, f"its index cannot be read: {error}") from error
        if index.rows != entry.rows:
            raise _damaged(self.name, number, entry, f"its index is of {index.rows} rows")
        return index

    def _check(self, number: int, block: pa.Buffer) -> None:
        entry, found = self.entries[number], crc32c([block])
        if found != entry.crc32c:
            reason = f"its checksum is {found:08x}, {entry.crc32c:08x} was written"
            raise _damaged(self.name, number, entry, reason)

    def _decode(self, number: int, block: pa.Buffer) -> pa.RecordBatch:
        entry = self.entries[number]
        try:
            batch = decode_batch(block)
        except (pa.ArrowInvalid, OSError, StopIteration) as error:
            raise _damaged(self.name, number, entry, f"not an Arrow stream: {error}") from error
        if batch.num_rows != entry.rows:
            raise _damaged(self.name, number, entry, f"it holds {batch.num_rows} rows")
        return batch


def _damaged(name: str, number: int, entry: Entry, reason: str) -> CorruptionError:
    return CorruptionError(f"{name}: block {number} ({entry.describe()}) is damaged: {reason}")


def _read_entries(source: Source) -> tuple[Entry, ...]:
    name, size = source.name, source.size
    fields = unseal(source.read(size - HEADER_SIZE, HEADER_SIZE))
    if _checked(name, "trailer", fields) != _format_of(source):
        raise CorruptionError(f"{name}: the header is of one format and the trailer of another")
    assert fields is not None
    _, _, offset, length, crc = _TRAILER.unpack_from(fields)
    if offset + length + HEADER_SIZE != size:
        raise CorruptionError(f"{name}: {size} bytes long, {offset + length + HEADER_SIZE} were written")
    footer = source.read(offset, length)
    found = crc32c([footer])
    if found != crc:
        raise CorruptionError(
            f"{name}: the footer (the index of all blocks) is damaged: "
            f"its checksum is {found:08x}, {crc:08x} was written"
        )
    index = strict_json.decode(bytes(footer))
    assert isinstance(index, dict)
    written = index.get("name", name)  # early files do not have it
    if written != name:
        raise CorruptionError(f"{name}: this is {written}, which was copied or moved to another name")
    return tuple(Entry(**entry) for entry in index["entries"])


def _format_of(source: Source) -> int:
    """The format that the header says; it is the same in all formats."""
    if source.size < 2 * HEADER_SIZE:
        raise CorruptionError(
            f"{source.name}: {source.size} bytes are too few for a segment; the file was cut"
        )
    return _checked(source.name, "header", unseal(source.read(0, HEADER_SIZE)))


def _checked(name: str, what: str, fields: bytes | None) -> int:
    if fields is None:
        raise CorruptionError(f"{name}: the segment's {what} is damaged or the file is not a segment")
    magic, number = _HEADER.unpack_from(fields)
    if magic != _MAGIC:
        raise CorruptionError(f"{name}: the {what} says {magic!r}; this is not a segment")
    return int(number)


def _open_with_footer(number: int) -> OpenSegment:
    """How formats are opened that have the footer of this one: entries in blocks are new in format 2."""

    def open_segment(source: Source) -> Segment:
        entries = _read_entries(source)
        if entries and (index := entries[-1].index) is not None:
            source.keep_from(index)
        return Segment(source, entries, format=number)

    return open_segment


OpenSegment = Callable[[Source], Segment]
"""Opens the segment that a source has."""

READERS: dict[int, OpenSegment] = {1: _open_with_footer(1), SEGMENT_FORMAT: _open_with_footer(SEGMENT_FORMAT)}
"""How segments of each format are opened."""
