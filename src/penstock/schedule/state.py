"""A worker's arrangements: opened from segments, added to when a step is accepted, written by a commit.

Opening is lazy per arrangement: a stage of a staged step only touches what its level keeps. Segments are
cached in the process by name (they are immutable), so reopening the next version maps no file twice.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.storage import Backend, Segment, SegmentWriter
from penstock.trace import Batch, BatchRef, Spine
from penstock.trace.order import Ordered

__all__ = ["Arrangements", "forget_segments", "open_segment"]

_CACHE_LIMIT = 4096
_cache: OrderedDict[tuple[str, str], Segment] = OrderedDict()


def open_segment(backend: Backend, name: str) -> Segment:
    """The segment, opened at most once per process while it stays among the recently used."""
    key = (backend.url, name)
    if key not in _cache:
        _cache[key] = Segment.open(backend, name)
        if len(_cache) > _CACHE_LIMIT:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return _cache[key]


def forget_segments() -> None:
    """Lets go of all segments that nobody uses: a file that was deleted is not gone while it is mapped."""
    _cache.clear()


class Arrangements:
    """All arrangements of one worker. A name that the manifest does not know is an empty arrangement."""

    def __init__(
        self,
        backend: Backend,
        layout: Layout,
        worker: int,
        stored: Mapping[str, Sequence[Mapping[str, Any]]],
        fans: Mapping[str, int],
    ) -> None:
        self._backend, self._layout, self._worker, self._fans = backend, layout, worker, fans
        self._stored = stored
        self._spines: dict[str, Spine] = {}

    def spine(self, slot: str) -> Spine:
        """The arrangement's spine, opened on first use."""
        if slot not in self._spines:
            spine = Spine(self._fans.get(slot, 2))
            for ref in sorted(self._stored.get(slot, ()), key=lambda r: r["start"] - r["stop"]):
                self._load(spine, BatchRef(ref["segment"], ref["entry"], ref["start"], ref["stop"]))
            self._spines[slot] = spine
        return self._spines[slot]

    def size(self, slot: str) -> tuple[int, int]:
        """Rows and bytes of an arrangement."""
        batches = self.spine(slot).batches
        return sum(map(len, batches)), sum(batch.nbytes for batch in batches)

    def _load(self, spine: Spine, ref: BatchRef) -> None:
        """Adds this worker's slices of a stored batch."""
        segment = open_segment(self._backend, ref.segment)
        ordered: Ordered = segment.entries[ref.entry].meta.get("ordered") or None  # type: ignore[assignment]
        whole = Batch.from_arrow(segment.read(ref.entry), ordered=ordered)
        batch = whole.slice(ref.start, ref.stop)
        for start, stop in self._layout.slices(self._worker, batch):
            place = BatchRef(ref.segment, ref.entry, ref.start + start, ref.start + stop)
            spine.load(batch.slice(start, stop), place)

    def write(
        self, version: int, slots: Iterable[str], changes: Mapping[str, pa.RecordBatch]
    ) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, Any]]]:
        """Writes all batches of ``slots`` that live in memory only, and ``changes``, as one segment.

        Returns where everything lies, in the form of the manifest. The name of the segment is new whatever
        happened before: an attempt that is not committed leaves an orphan, never damage.
        """
        name = f"segments/{version:010d}-w{self._worker:04d}-{uuid.uuid4().hex[:12]}.seg"
        writer = SegmentWriter(self._backend, name)
        fresh: dict[str, dict[int, BatchRef]] = {}
        slots = list(slots)
        for slot in slots:
            spine = self.spine(slot)
            for position, (batch, ref) in enumerate(zip(spine.batches, spine.refs, strict=True)):
                if ref is None:
                    meta = {"arrangement": slot, "ordered": batch.ordered or ""}
                    entry = writer.add("batch", meta, batch.to_arrow())
                    fresh.setdefault(slot, {})[position] = BatchRef(name, entry, 0, len(batch))
        changed: dict[str, dict[str, Any]] = {}
        for view, batch in changes.items():
            entry = writer.add("changes", {"view": view}, batch)
            changed[view] = {"segment": name, "entry": entry}
        if fresh or changed:
            writer.finish()
        for slot, refs in fresh.items():
            self.spine(slot).stored(refs)
        stored = {slot: [ref.to_json() for ref in self.spine(slot).refs if ref is not None] for slot in slots}
        return stored, changed
