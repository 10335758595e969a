"""A snapshot: what one commit writes. Later steps do not change it.

Batches never change, so taking a snapshot copies nothing: it is the list of the batches that an arrangement
has now. It may be written in another thread while steps run; the only thing that changes is the record of
where a batch is stored. A batch that a step has merged meanwhile is written nevertheless, because the version
in progress consists of it.

If the machine is short of memory, or the memory that a user granted is used up, large batches, including
those of earlier versions, are from then on used from the mapped file, whose pages the system can drop and
read again; so state may be larger than memory."""

from __future__ import annotations

import uuid
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa

from penstock.schedule.change_log import add_changes
from penstock.schedule.memory import is_short_of_memory
from penstock.schedule.occupancy import Occupancy
from penstock.schedule.opening import Written, WrittenChanges
from penstock.storage import Backend, BatchRef, ChangeBlock, Pool, Segment, SegmentWriter
from penstock.trace import SMALLEST, Batch, Held, pack
from penstock.trace.filing import Filing, meta_of
from penstock.trace.spine import LARGE
from penstock.trace.stored import BLOCKS, PLAIN, can_be_stored, in_memory, private, small_codecs
from penstock.zset.width import exceeds_together

__all__ = ["PACKED", "Snapshot", "joined"]

PACKED = "packed batch"
"""The kind of a segment's block."""
BLOCKED = 65_536
"""The number of rows from which on a batch is stored in blocks. Smaller ones are read as a whole. So are the
rows of append-only tables, whose words need not be stored."""
OWN_SEGMENT_BYTES = 1 << 20
"""A batch of this many bytes has its own segment: in a shared one, it and others would keep each other's
space occupied. Two more syncs are cheap compared with writing it."""


@dataclass(frozen=True)
class Snapshot:
    """The arrangements and the new changes of views of one worker, to become part of ``version``."""

    backend: Backend
    worker: int
    version: int
    arrangements: Mapping[str, Sequence[Held]]
    changes: Mapping[str, Sequence[pa.RecordBatch]]
    packed: Mapping[str, bool] | None = None
    """Set if large batches are to be packed: the arrangements for which words are stored too."""
    sparse: frozenset[str] = frozenset()
    """Segments whose batches are to be written again."""
    occupancy: Occupancy = field(default_factory=Occupancy)
    """Called with what was written."""
    filing: Filing | None = None
    """Opens batches in blocks."""
    memory: int | None = None
    """What batches and blocks may take together, in bytes; None for no limit."""

    def write(self) -> Written:
        """Writes all batches that are in memory only, or in a sparse segment: each large one as its own
        segment, which is deleted when the batch is merged, and the others as one. Changes get another: they
        stay referenced as long as they are retained, which must not keep batches on disk.

        Returns the positions of everything. Segment names are unique: an attempt that is not committed leaves
        an orphan, never damage.
        """
        shared, changed = self._writer(), self._write_changes()
        fresh: dict[Held, tuple[BatchRef, int]] = {}
        for slot, batches in self.arrangements.items():
            for held in batches:
                if held.ref is not None and held.ref.segment not in self.sparse:
                    continue
                own = self._writer() if held.batch.nbytes >= OWN_SEGMENT_BYTES else None
                fresh[held] = self._add(own or shared, slot, held)
                if own is not None:
                    own.finish()
        if shared.entries:
            shared.finish()
        for held, (place, stored) in fresh.items():
            held.ref, held.stored = place, stored
            self.occupancy.note(place.segment, stored)
        self._map(fresh)
        return Written(
            self.worker,
            {
                slot: tuple(held.ref for held in batches if held.ref is not None)
                for slot, batches in self.arrangements.items()
            },
            changed,
            {slot: _size(batches) for slot, batches in self.arrangements.items()},
        )

    def _is_short_of_memory(self) -> bool:
        if self.memory is None:
            return is_short_of_memory()
        batches = (held.batch for held in chain.from_iterable(self.arrangements.values()))
        return 2 * sum(batch.nbytes for batch in batches if batch.backing is None) > self.memory

    def _writer(self) -> SegmentWriter:
        name = f"segments/{self.version:010d}-w{self.worker:04d}-{uuid.uuid4().hex[:12]}.seg"
        return SegmentWriter(self.backend, name)

    def _write_changes(self) -> WrittenChanges | None:
        writer = self._writer()
        blocks = []
        for view, parts in self.changes.items():
            for entry in [add_changes(writer, view, batch) for batch in joined(parts)]:
                blocks.append(ChangeBlock(view, entry, writer.checksum(entry)))
        if not blocks:
            return None
        writer.finish()
        return WrittenChanges(writer.name, tuple(blocks))

    def _map(self, fresh: Container[Held]) -> None:
        """Large batches are to be used from the mapped file if memory is short, so that their memory, or the
        file in which they were before, can be freed. Where files are not in place, what was written again is
        always used from its new file, because the old one will be deleted."""
        opened: dict[str, Segment] = {}
        is_short, moves = self._is_short_of_memory(), not self.backend.reads_in_place
        for held in chain.from_iterable(self.arrangements.values()):
            ref = held.ref
            is_due = is_short and len(held.batch) >= LARGE and (held.in_memory or held in fresh)
            has_moved = moves and held in fresh and held.batch.backing is not None
            if ref is None or not (is_due or has_moved):
                continue
            if ref.segment not in opened:
                opened[ref.segment] = Segment.open(self.backend, ref.segment)
            segment = opened[ref.segment]
            kind = segment.entries[ref.entry].kind
            if kind == BLOCKS and self.filing is not None:
                whole = self.filing.whole(segment, ref.entry, held.batch.ordered)
                held.mapped = whole.slice(ref.start, ref.stop)
            elif kind not in (PACKED, BLOCKS):
                whole = Batch.from_arrow(segment.read(ref.entry), ordered=held.batch.ordered)
                mapped = whole.slice(ref.start, ref.stop)
                held.mapped = replace(mapped, directory=held.batch.directory)
            elif has_moved:
                held.mapped = in_memory(private(held.batch, Pool()).whole())

    def _add(self, writer: SegmentWriter, slot: str, held: Held) -> tuple[BatchRef, int]:
        """Adds a batch to a segment; returns its position, and its size in bytes."""
        batch, meta = private(held.batch, Pool()).whole(), meta_of(slot, held.batch.ordered)
        before = writer.size
        if (
            len(batch) >= BLOCKED
            and can_be_stored(batch)
            and (self.packed is not None or not batch.is_sequence)
        ):
            rows = batch.to_columns()
            codecs = (
                small_codecs(rows.schema, derived=not self.packed[slot]) if self.packed is not None else PLAIN
            )
            entry = writer.add_blocks(BLOCKS, meta, rows, codecs)
        elif self.packed is not None and len(batch) >= SMALLEST:
            block = pack(batch, with_words=self.packed[slot])
            entry = writer.add(PACKED, {**meta, "rows": len(batch)}, block)
        else:
            entry = writer.add("batch", meta, batch.to_arrow())
        place = BatchRef(writer.name, entry, 0, len(batch), writer.checksum(entry))
        return place, writer.size - before


def joined(parts: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """All parts as one batch, or as few as can hold them."""
    groups: list[list[pa.RecordBatch]] = [[]]
    for part in parts:
        if groups[-1] and exceeds_together([*groups[-1], part]):
            groups.append([])
        groups[-1].append(part)
    return [group[0] if len(group) == 1 else pa.concat_batches(group) for group in groups if group]


def _size(batches: Sequence[Held]) -> tuple[int, int]:
    """Rows and bytes of an arrangement."""
    return sum(len(held.batch) for held in batches), sum(held.batch.nbytes for held in batches)
