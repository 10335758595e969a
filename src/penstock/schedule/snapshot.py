"""A snapshot: what one commit writes. Later steps do not change it.

Batches never change, so taking a snapshot copies nothing: it is the list of the batches that an arrangement
has now. It may be written in another thread while steps run; the only thing that changes is the record of
where a batch is stored. A batch that a step has merged meanwhile is written nevertheless, because the version
in progress consists of it. A batch that is on file and has to be written again, because its segment is mostly
garbage, is copied piece by piece.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.schedule.change_log import add_changes
from penstock.schedule.occupancy import Occupancy
from penstock.schedule.opening import Written, WrittenChanges
from penstock.schedule.storage_counts import StorageCounts
from penstock.storage import PLAIN_FORM, Backend, BatchRef, ChangeBlock, SegmentWriter
from penstock.trace import Batch, Held, Part, Stored, merge_batches
from penstock.trace.filing import meta_of
from penstock.trace.form import Forms, shape_of, shape_of_sum, whole
from penstock.trace.stored import BLOCKS, can_be_stored, merge_to_draft
from penstock.trace.turns import Turns
from penstock.zset.width import exceeds_together

__all__ = ["PACKED", "Snapshot", "joined"]

PACKED = "packed batch"
"""The kind of a segment's block that earlier releases wrote: compressed, as a Parquet file."""
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
    form: Forms = whole
    """In which form a batch of an arrangement is stored."""
    read: Callable[[str, BatchRef], Batch] | None = None
    """Reads a part of an arrangement from its segment; needed if there are sparse segments."""
    sparse: frozenset[str] = frozenset()
    """Segments whose batches are to be written again."""
    occupancy: Occupancy = field(default_factory=Occupancy)
    """Called with what was written."""
    counts: Callable[[int], StorageCounts] = lambda written: StorageCounts(written_bytes=written)
    """What the storage has done, after this snapshot has written so many bytes."""
    turns: Turns = field(default_factory=Turns)
    """Lets steps go first while large batches are written."""

    def write(self) -> Written:
        """Writes everything that is unwritten, or in a sparse segment: each large batch as its own segment,
        which is deleted when the batch is merged, and the others as one. Changes get another: they stay
        referenced as long as they are retained, which must not keep batches on disk.

        Returns the positions of everything. Segment names are unique: an attempt that is not committed leaves
        an orphan, never damage.
        """
        shared, changed = self._writer(), self._write_changes()
        stored = {
            slot: [self._stored(slot, held.stored, shared) for held in batches]
            for slot, batches in self.arrangements.items()
        }
        if shared.entries:
            shared.finish()
        written = 0 if changed is None else self.backend.size(changed.segment)
        for slot, batches in self.arrangements.items():
            for held, now in zip(batches, stored[slot], strict=True):
                for part in set(now.parts) - set(held.stored.parts):
                    self.occupancy.note(part.ref.segment, part.size)
                    written += part.size
                held.stored = now
        return Written(
            self.worker,
            {
                slot: tuple(part.ref for each in found for part in each.parts)
                for slot, found in stored.items()
            },
            changed,
            {slot: _size(batches) for slot, batches in self.arrangements.items()},
            self.counts(written),
        )

    def _stored(self, slot: str, stored: Stored, shared: SegmentWriter) -> Stored:
        """Writes what is unwritten of a batch as one more part, and parts in sparse segments again."""
        if not stored.unwritten and not any(part.ref.segment in self.sparse for part in stored.parts):
            return stored
        parts = []
        for part in stored.parts:
            if part.ref.segment in self.sparse:
                assert self.read is not None
                part = self._written(slot, self.read(slot, part.ref), shared)
            parts.append(part)
        unwritten = merge_batches(stored.unwritten) if stored.unwritten else None
        if unwritten is not None and len(unwritten):
            parts.append(self._written(slot, unwritten, shared))
        return Stored(tuple(parts))

    def _written(self, slot: str, batch: Batch, shared: SegmentWriter) -> Part:
        if batch.backing is not None:
            return self._copied(slot, batch)
        if batch.nbytes < OWN_SEGMENT_BYTES:
            return self._add(shared, slot, batch)
        own = self._writer()
        part = self._add(own, slot, batch)
        own.finish()
        return part

    def _name(self) -> str:
        return f"segments/{self.version:010d}-w{self.worker:04d}-{uuid.uuid4().hex[:12]}.seg"

    def _writer(self) -> SegmentWriter:
        return SegmentWriter(self.backend, self._name())

    def _copied(self, slot: str, batch: Batch) -> Part:
        """Copies a batch on file to a segment of its own, piece by piece."""
        form = self.form(slot, shape_of_sum([batch])) or PLAIN_FORM
        draft = merge_to_draft(self.backend, [batch], meta_of(slot, batch.ordered), form, self.turns)
        return Part(*draft.publish(self._name()))

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

    def _add(self, writer: SegmentWriter, slot: str, batch: Batch) -> Part:
        """Adds a batch to a segment."""
        meta = meta_of(slot, batch.ordered)
        before = writer.size
        form = (
            self.form(slot, shape_of(batch, is_sequence=batch.is_sequence)) if can_be_stored(batch) else None
        )
        if form is not None:
            entry = writer.add_blocks(BLOCKS, meta, batch.to_columns(), form)
        else:
            entry = writer.add("batch", meta, batch.to_arrow())
        place = BatchRef(writer.name, entry, 0, len(batch), writer.checksum(entry))
        return Part(place, writer.size - before)


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
