"""The changes of views that a worker holds until they are in a version.

Changes are readable for as many steps as the pipeline retains. Those that are in no manifest yet can only be
served by the worker that made them; what was written for a version is held until the next version is started,
because only that shows that the one before was published.

On disk changes are compressed unless they are small: they are written once, and read sequentially if at all.
(State is not: it is searched in place.)
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from penstock.storage import Entry, Segment, SegmentWriter
from penstock.zset import ZSet

__all__ = ["STEP_COLUMN", "ChangeLog", "add_changes", "read_changes", "unpacked_changes", "with_step"]

STEP_COLUMN = "_step"
PLAIN, PACKED = "changes", "packed changes"
"""The kinds of a segment's blocks."""
FEW_BYTES = 64 << 10
"""The size in bytes below which compressing is not worth it."""
_COLUMN = "arrow"
_OPTIONS = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1), use_threads=False)


class ChangeLog:
    """Changes by view, step after step."""

    def __init__(self, retained_steps: int) -> None:
        self._retained_steps = retained_steps
        self.clear()

    def clear(self) -> None:
        """Drops everything: the state was opened again."""
        self._changes: dict[str, list[tuple[int, pa.RecordBatch]]] = defaultdict(list)
        self._last = -1  # step that was accepted
        self.nbytes = 0
        """What the changes take in memory."""
        self._written = (0, -1)  # the last version that was written, and the last step in it

    def accept(self, step: int, changes: dict[str, ZSet]) -> None:
        """Adds the changes of a step; drops those that are too old to be asked for."""
        for view, zset in changes.items():
            if len(zset):
                parts = with_step(zset, step)
                self._changes[view] += [(step, part) for part in parts]
                self.nbytes += sum(part.nbytes for part in parts)
        self._last = step
        self._forget(step - self._retained_steps)

    def unwritten(self, version: int) -> dict[str, tuple[pa.RecordBatch, ...]]:
        """What belongs in a version. The same version again means that the one written before was not
        published; another one, that it was."""
        written, step = self._written
        if version != written:
            self._forget(step)
        self._written = (version, self._last)
        return {view: tuple(part for _, part in parts) for view, parts in self._changes.items() if parts}

    def since(self, view: str, step: int) -> list[pa.RecordBatch]:
        """The changes of a view after a step, as far as they are here."""
        return [part for made, part in self._changes.get(view, ()) if made > step]

    def _forget(self, last: int) -> None:
        """Drops the changes of steps up to ``last``."""
        for parts in self._changes.values():
            while parts and parts[0][0] <= last:
                self.nbytes -= parts.pop(0)[1].nbytes


def add_changes(writer: SegmentWriter, view: str, changes: pa.RecordBatch) -> int:
    """Puts changes of a view into a segment; returns the number of the entry."""
    if changes.nbytes < FEW_BYTES:
        return writer.add(PLAIN, {"view": view}, changes)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, changes.schema, options=_OPTIONS) as stream:
        stream.write_batch(changes)
    value = pa.array([memoryview(sink.getvalue())], pa.large_binary())
    block = pa.RecordBatch.from_arrays([value], names=[_COLUMN])
    return writer.add(PACKED, {"view": view, "rows": changes.num_rows}, block)


def read_changes(segment: Segment, number: int) -> pa.RecordBatch:
    """The inverse of :func:`add_changes`."""
    return unpacked_changes(segment.read(number), segment.entries[number])


def unpacked_changes(block: pa.RecordBatch, entry: Entry) -> pa.RecordBatch:
    """The changes in a block."""
    if entry.kind != PACKED:
        return block
    with pa.ipc.open_stream(block.column(_COLUMN)[0].as_buffer()) as stream:
        return stream.read_next_batch()


def with_step(zset: ZSet, step: int) -> list[pa.RecordBatch]:
    """Rows with their weights and the step that changed them."""
    return [
        batch.append_column(STEP_COLUMN, pa.array(np.full(batch.num_rows, step, np.int64)))
        for batch in zset.to_batches()
    ]
