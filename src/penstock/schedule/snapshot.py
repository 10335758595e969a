"""A snapshot: what one commit writes, which the steps that follow do not touch.

Batches never change, so taking a snapshot copies nothing: it is the list of the batches that an arrangement
has now. Writing it may take place in another thread while steps go on; all it changes is the note where a
batch is stored. A batch that a step has merged away meanwhile is written nevertheless, because the version
that is being made consists of it.

Where the machine is short of memory, large batches are from then on used where they were written: the mapped
file is the system's to drop and to read again, so state may be larger than memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.schedule.memory import is_short_of_memory
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

    def write(self) -> dict[str, Any]:
        """Writes all batches that live in memory only, and the changes, as one segment.

        Returns where everything lies, in the form of the manifest. The name of the segment is new whatever
        happened before: an attempt that is not committed leaves an orphan, never damage.
        """
        name = f"segments/{self.version:010d}-w{self.worker:04d}-{uuid.uuid4().hex[:12]}.seg"
        writer = SegmentWriter(self.backend, name)
        places = {
            slot: [held.ref or self._add(writer, slot, held) for held in batches]
            for slot, batches in self.arrangements.items()
        }
        changed: dict[str, dict[str, Any]] = {}
        for view, parts in self.changes.items():
            entry = writer.add("changes", {"view": view}, joined(parts))
            changed[view] = {"segment": name, "entry": entry}
        if writer.entries:
            writer.finish()
        fresh = [
            (held, place)
            for slot, batches in self.arrangements.items()
            for held, place in zip(batches, places[slot], strict=True)
            if held.ref is None
        ]
        for held, place in fresh:
            held.ref = place
        if is_short_of_memory():
            self._map(name, fresh)
        return {
            "worker": self.worker,
            "arrangements": {slot: [place.to_json() for place in found] for slot, found in places.items()},
            "changes": changed,
            "sizes": {slot: _size(batches) for slot, batches in self.arrangements.items()},
        }

    def _map(self, name: str, fresh: Sequence[tuple[Held, BatchRef]]) -> None:
        """Large batches are to be used where they were written, so that their memory can be freed."""
        large = [(held, place.entry) for held, place in fresh if len(held.batch) >= LARGE]
        if not large:
            return
        segment = Segment.open(self.backend, name)
        for held, entry in large:
            if segment.entries[entry].kind != PACKED:
                mapped = Batch.from_arrow(segment.read(entry), ordered=held.batch.ordered)
                held.mapped = replace(mapped, directory=held.batch.directory)

    def _add(self, writer: SegmentWriter, slot: str, held: Held) -> BatchRef:
        batch, meta = held.batch, {"arrangement": slot, "ordered": held.batch.ordered or ""}
        if self.packed is not None and len(batch) >= SMALLEST:
            block = pack(batch, with_words=self.packed[slot])
            entry = writer.add(PACKED, {**meta, "rows": len(batch)}, block)
        else:
            entry = writer.add("batch", meta, batch.to_arrow())
        return BatchRef(writer.name, entry, 0, len(batch))


def joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """All parts as one batch."""
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _size(batches: Sequence[Held]) -> tuple[int, int]:
    """Rows and bytes of an arrangement."""
    return sum(len(held.batch) for held in batches), sum(held.batch.nbytes for held in batches)
