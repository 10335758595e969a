"""A snapshot: what one commit writes, which the steps that follow do not touch.

Batches never change, so taking a snapshot copies nothing: it is the list of the batches that an arrangement
has now. Writing it may take place in another thread while steps go on; all it changes is the note where a
batch is stored. A batch that a step has merged away meanwhile is written nevertheless, because the version
that is being made consists of it.

Where the machine is short of memory, large batches are from then on used where they were written, those of
earlier versions too: the mapped file is the system's to drop and to read again, so state may be larger than
memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from penstock.schedule.memory import is_short_of_memory
from penstock.schedule.occupancy import Occupancy
from penstock.storage import Backend, Segment, SegmentWriter
from penstock.trace import SMALLEST, Batch, BatchRef, Held, pack
from penstock.trace.spine import LARGE

__all__ = ["PACKED", "Snapshot", "joined"]

PACKED = "packed batch"
"""The kind of a segment's block."""


@dataclass(frozen=True)
class Snapshot:
    """The arrangements and the new changes of views of one worker, to become part of ``version``."""

    backend: Backend
    worker: int
    version: int
    arrangements: Mapping[str, Sequence[Held]]
    changes: Mapping[str, Sequence[pa.RecordBatch]]
    packed: Mapping[str, bool] | None = None
    """If large batches are to be packed: for which arrangements with their words."""
    sparse: frozenset[str] = frozenset()
    """Segments whose batches are to be written again."""
    occupancy: Occupancy = field(default_factory=Occupancy)
    """Is told what was written."""

    def write(self) -> dict[str, Any]:
        """Writes all batches that live in memory only, or in a sparse segment, as one segment, and changes as
        another: they are named for as long as they are told, which must not keep batches.

        Returns where everything lies, in the form of the manifest. The names of segments are new whatever
        happened before: an attempt that is not committed leaves an orphan, never damage.
        """
        writer, changed = self._writer(), self._write_changes()
        fresh = {
            held: self._add(writer, slot, held)
            for slot, batches in self.arrangements.items()
            for held in batches
            if held.ref is None or held.ref.segment in self.sparse
        }
        if writer.entries:
            writer.finish()
        for held, (place, stored) in fresh.items():
            held.ref, held.stored = place, stored
            self.occupancy.note(writer.name, stored)
        if is_short_of_memory():
            self._map(fresh)
        return {
            "worker": self.worker,
            "arrangements": {
                slot: [held.ref.to_json() for held in batches if held.ref is not None]
                for slot, batches in self.arrangements.items()
            },
            "changes": changed,
            "sizes": {slot: _size(batches) for slot, batches in self.arrangements.items()},
        }

    def _writer(self) -> SegmentWriter:
        name = f"segments/{self.version:010d}-w{self.worker:04d}-{uuid.uuid4().hex[:12]}.seg"
        return SegmentWriter(self.backend, name)

    def _write_changes(self) -> dict[str, dict[str, Any]]:
        writer = self._writer()
        changed: dict[str, dict[str, Any]] = {}
        for view, parts in self.changes.items():
            entry = writer.add("changes", {"view": view}, joined(parts))
            changed[view] = {"segment": writer.name, "entry": entry}
        if changed:
            writer.finish()
        return changed

    def _map(self, fresh: Container[Held]) -> None:
        """Large batches are to be used where they lie now, so that their memory, or the file in which they
        lay before, can be freed."""
        opened: dict[str, Segment] = {}
        for held in chain.from_iterable(self.arrangements.values()):
            ref = held.ref
            if ref is None or len(held.batch) < LARGE or not (held.in_memory or held in fresh):
                continue
            if ref.segment not in opened:
                opened[ref.segment] = Segment.open(self.backend, ref.segment)
            segment = opened[ref.segment]
            if segment.entries[ref.entry].kind != PACKED:
                whole = Batch.from_arrow(segment.read(ref.entry), ordered=held.batch.ordered)
                mapped = whole.slice(ref.start, ref.stop)
                held.mapped = replace(mapped, directory=held.batch.directory)

    def _add(self, writer: SegmentWriter, slot: str, held: Held) -> tuple[BatchRef, int]:
        """Puts a batch into a segment; where it lies then, and in how many bytes."""
        batch, meta = held.batch, {"arrangement": slot, "ordered": held.batch.ordered or ""}
        before = writer.size
        if self.packed is not None and len(batch) >= SMALLEST:
            block = pack(batch, with_words=self.packed[slot])
            entry = writer.add(PACKED, {**meta, "rows": len(batch)}, block)
        else:
            entry = writer.add("batch", meta, batch.to_arrow())
        return BatchRef(writer.name, entry, 0, len(batch)), writer.size - before


def joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """All parts as one batch."""
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _size(batches: Sequence[Held]) -> tuple[int, int]:
    """Rows and bytes of an arrangement."""
    return sum(len(held.batch) for held in batches), sum(held.batch.nbytes for held in batches)
