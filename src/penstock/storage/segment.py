"""Segment files: many record batches with their metadata in one immutable, checksummed, mappable file.

Layout (docs/formats.md has every byte)::

    header 64 B | block 0 | block 1 | … | footer JSON | trailer 64 B

Invariant: every byte of the file is under some CRC32C, and everything starts at a multiple of 64, so a
batch read is a view of the mapping. The footer tells what each block held, so damage is reported in those
terms. It also has the segment's name, which is unique (it ends in random digits), so one sound segment in the
place of another is found; and whoever refers to a block can say which checksum it expects.

A worker writes one segment per commit with the new batches of all its operators, and one with the changes of
its views: two syncs each, whatever the number of batches. Writing copies nothing; memory is that of the
batches added, which are held until ``finish``. Opening reads header, footer and trailer; a block is read and
checked the first time it is asked for.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import pyarrow as pa

from penstock.errors import CorruptionError, StorageError
from penstock.storage import strict_json
from penstock.storage.block import decode_batch, encode_batch
from penstock.storage.checksum import ALIGNMENT, HEADER_SIZE, crc32c, seal, unseal
from penstock.storage.interface import Backend, to_buffer

__all__ = ["SEGMENT_FORMAT", "Entry", "Segment", "SegmentWriter"]

SEGMENT_FORMAT = 1
_MAGIC = b"PENSTSEG"
_HEADER = struct.Struct("<8sI")  # magic, format version
_TRAILER = struct.Struct("<8sIQQI")  # magic, format version, footer offset, footer length, footer crc


@dataclass(frozen=True)
class Entry:
    """The footer's record of one block: its kind, position and checksum."""

    kind: str
    meta: Mapping[str, object]
    offset: int
    length: int
    crc32c: int
    rows: int

    def describe(self) -> str:
        where = f"bytes {self.offset} to {self.offset + self.length}"
        return f"{self.kind} {dict(self.meta)}, {self.rows} rows, {where}"


class SegmentWriter:
    """Collects batches and publishes them as one segment. Nothing is written before ``finish``."""

    def __init__(self, backend: Backend, name: str) -> None:
        self.name = name
        self._backend = backend
        self._parts: list[pa.Buffer] = [to_buffer(seal(_HEADER.pack(_MAGIC, SEGMENT_FORMAT)))]
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

    def checksum(self, number: int) -> int:
        """The checksum that a reference to a batch can tell a reader to expect."""
        return self._entries[number].crc32c

    def finish(self) -> None:
        """Publish the segment, durably. If it raises, write the batches again under a new name."""
        if self._finished:
            raise StorageError(f"{self.name} is finished; a segment never changes")
        index = {"name": self.name, "entries": [asdict(entry) for entry in self._entries]}
        footer = strict_json.encode(index, self.name)
        footer += b" " * (-len(footer) % ALIGNMENT)
        fields = _TRAILER.pack(_MAGIC, SEGMENT_FORMAT, self._size, len(footer), crc32c([footer]))
        trailer = seal(fields)
        self._backend.write_new(self.name, [*self._parts, footer, trailer])
        self._finished = True
        self._parts.clear()
        self._size += len(footer) + len(trailer)


class Segment:
    """A published segment. Batches read from it keep its mapping alive, even after the file is deleted."""

    def __init__(self, name: str, content: pa.Buffer, entries: tuple[Entry, ...]) -> None:
        self.name = name
        self.entries = entries
        self._content = content
        self._checked: set[int] = set()

    @classmethod
    def open(cls, backend: Backend, name: str) -> Segment:
        """Check and read everything but the blocks."""
        content = backend.open(name)
        return cls(name, content, _read_entries(name, content))

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
        """The batch, as a view of the mapped file. Its checksum is compared the first time."""
        entry = self.entries[number]
        block = self._content.slice(entry.offset, entry.length)
        if number not in self._checked:
            self._check(number, block)
            self._checked.add(number)
        return self._decode(number, block)

    def read_copy(self, backend: Backend, number: int) -> pa.RecordBatch:
        """The batch in memory of its own, always checked. For a reader that has to survive a failing disk: an
        error while reading names the file, where a mapping would end the process."""
        entry = self.entries[number]
        block = backend.read_at(self.name, entry.offset, entry.length)
        self._check(number, block)
        return self._decode(number, block)

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


def _read_entries(name: str, content: pa.Buffer) -> tuple[Entry, ...]:
    if content.size < 2 * HEADER_SIZE:
        raise CorruptionError(f"{name}: {content.size} bytes are too few for a segment; the file was cut")
    _check_format(name, "header", unseal(content.slice(0, HEADER_SIZE)))
    fields = unseal(content.slice(content.size - HEADER_SIZE))
    _check_format(name, "trailer", fields)
    assert fields is not None
    _, _, offset, length, crc = _TRAILER.unpack_from(fields)
    if offset + length + HEADER_SIZE != content.size:
        raise CorruptionError(
            f"{name}: {content.size} bytes long, {offset + length + HEADER_SIZE} were written"
        )
    footer = content.slice(offset, length)
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


def _check_format(name: str, what: str, fields: bytes | None) -> None:
    if fields is None:
        raise CorruptionError(f"{name}: the segment's {what} is damaged or the file is not a segment")
    magic, version = _HEADER.unpack_from(fields)
    if magic != _MAGIC:
        raise CorruptionError(f"{name}: the {what} says {magic!r}; this is not a segment")
    if version != SEGMENT_FORMAT:
        raise StorageError(
            f"{name}: segment format {version} is not known to this version of Penstock "
            f"(it reads {SEGMENT_FORMAT}); a newer one wrote the file"
        )
