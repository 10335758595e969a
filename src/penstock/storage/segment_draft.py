"""A segment of one batch in blocks, written piece by piece.

For merges, whose result may be larger than memory. Nothing of it exists for anybody else before it is
published: a merge that a crash interrupts leaves a temporary file, which is removed later. The name is chosen
when the segment is published, because it says for which version."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.storage.block_form import BlockForm
from penstock.storage.block_writer import BlockWriter, Bounds
from penstock.storage.checksum import HEADER_SIZE
from penstock.storage.interface import Backend, Part, to_buffer
from penstock.storage.references import BatchRef
from penstock.storage.segment import blocks_entry, segment_end, segment_start

__all__ = ["SegmentDraft"]

SYNCED = 64 << 20
"""Bytes after which what was written is synced, so that publishing a large segment does not take long."""


class SegmentDraft:
    """Takes the rows of one batch in order. ``meta`` is that of its entry."""

    def __init__(
        self,
        backend: Backend,
        kind: str,
        meta: Mapping[str, object],
        schema: pa.Schema,
        bounds: Bounds,
        form: BlockForm,
    ) -> None:
        self._kind, self._meta = kind, meta
        self._draft = backend.draft()
        self._unsynced = 0
        self._draft.write_at(0, segment_start())
        self._writer = BlockWriter(schema, bounds, form, HEADER_SIZE, self._place)
        self.rows = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """The next rows."""
        self._writer.add(rows)
        self.rows += rows.num_rows

    def complete(self) -> None:
        """To be called after the last rows: makes them durable, so that publishing takes little time."""
        self._draft.sync()

    def publish(self, name: str) -> tuple[BatchRef, int]:
        """Makes the segment visible and durable; returns the position of the batch, and its bytes."""
        entry, index = blocks_entry(name, 0, self._kind, self._meta, HEADER_SIZE, self._writer)
        assert entry.index is not None
        self._draft.write_at(entry.index, index)
        end = HEADER_SIZE + entry.length
        self._draft.write_at(end, segment_end(name, end, [entry]))
        self._draft.publish(name)
        return BatchRef(name, 0, 0, self.rows, entry.crc32c), entry.length

    def discard(self) -> None:
        """Forgets what was written."""
        self._draft.discard()

    def _place(self, offset: int, part: Part) -> None:
        self._draft.write_at(offset, part)
        self._unsynced += to_buffer(part).size
        if self._unsynced >= SYNCED:
            self._draft.sync()
            self._unsynced = 0
