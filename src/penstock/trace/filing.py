"""Batches that go to a file of their own before a commit is due: large merges, and what memory has no room
for.

The file is a segment like any other, and the next version names it. Until then nothing refers to it: a crash
leaves a file that is deleted later, and the inputs are still what the last version says.

**Which version a segment is for** is in its name, and files that are for an older version than the newest and
that no version refers to are deleted. So a segment must be named for the next snapshot that will be taken,
and must be part of it. Both sides hold one lock: here while the segment gets its name and is published, there
while the number of the next snapshot goes up (:meth:`Filing.snapshot_taken`), after all published segments
were installed."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.storage import PLAIN_FORM, Backend, BatchRef, Pool, Segment
from penstock.storage.resident import Derive
from penstock.trace.batch import WORDS, Batch
from penstock.trace.form import Forms, shape_of_sum, whole
from penstock.trace.order import Ordered
from penstock.trace.stored import BLOCKS, can_be_stored, merge_to_draft, stored_batch
from penstock.trace.turns import Turns

__all__ = ["Filed", "Filing"]


@dataclass(frozen=True, slots=True)
class Filed:
    """The result of a merge, and where it is if it is on file. No batch if nothing was left of it, because
    all rows cancelled out."""

    batch: Batch | None
    ref: BatchRef | None = None
    stored: int = 0


class Filing:
    """Writes batches of one worker to segments and opens them from there, within the pool."""

    def __init__(
        self,
        backend: Backend,
        worker: int,
        pool: Pool,
        derive: Callable[[str], Derive | None],
        form: Forms = whole,
        *,
        large_bytes: int,
    ) -> None:
        """``derive`` gives the function that computes the words of an arrangement from its values, ``form``
        the form of its batches. Merges with a result of ``large_bytes`` or more go to a file."""
        self._backend, self._worker, self.pool = backend, worker, pool
        self._derive, self._form = derive, form
        self._large_bytes = large_bytes
        self.turns = Turns()
        self.bytes_in_memory = 0
        """What the batches of all spines take in memory."""
        self.bytes_written = 0
        """What was filed."""
        self._next_version = 1
        self.lock = threading.Lock()
        """Held while a segment is published, and while a snapshot is taken."""
        self.published: set[object] = set()
        """The jobs whose segments are published and not installed yet."""

    def snapshot_taken(self, version: int) -> None:
        """From now on segments are for the version after this one. To be called with the lock."""
        self._next_version = version + 1

    def takes(self, batches: Sequence[Batch]) -> bool:
        """Whether the sum of batches goes to a file: if one of them is on file, or they are large."""
        is_large = sum(batch.nbytes for batch in batches) >= self._large_bytes
        return (is_large or any(batch.backing is not None for batch in batches)) and self.can_store(batches)

    def can_store(self, batches: Sequence[Batch]) -> bool:
        """Whether batches can be stored in blocks."""
        return all(map(can_be_stored, batches))

    def can_open(self, ref: BatchRef) -> bool:
        """Whether a batch is stored such that it need not be in memory."""
        segment = Segment.open(self._backend, ref.segment)
        return segment.entries[ref.entry].kind == BLOCKS

    def write(self, job: object, batches: Sequence[Batch], slot: str) -> Filed:
        """Files the sum of batches. May run in another thread, while they are read."""
        ordered = batches[0].ordered
        form = self._form(slot, shape_of_sum(batches)) or PLAIN_FORM
        draft = merge_to_draft(self._backend, batches, meta_of(slot, ordered), form, self.turns)
        if draft.rows == 0:
            draft.discard()
            return Filed(None)
        draft.complete()
        with self.lock:
            name = f"segments/{self._next_version:010d}-w{self._worker:04d}-{uuid.uuid4().hex[:12]}.seg"
            ref, stored = draft.publish(name)
            self.bytes_written += stored
            self.published.add(job)
        return Filed(self.open(ref, ordered), ref, stored)

    def open(self, ref: BatchRef, ordered: Ordered) -> Batch:
        """A batch in blocks, as it is on file. Nothing of it is read."""
        segment = Segment.open(self._backend, ref.segment)
        segment.expect(ref.entry, ref.crc32c)
        return self.whole(segment, ref.entry, ordered).slice(ref.start, ref.stop)

    def whole(self, segment: Segment, number: int, ordered: Ordered) -> Batch:
        """The batch in an entry of an opened segment."""
        derive = self._derive(str(segment.entries[number].meta["arrangement"]))
        return stored_batch(segment.columns(number, self.pool, searched=WORDS, derive=derive), ordered)


def meta_of(slot: str, ordered: Ordered) -> Mapping[str, object]:
    """What the entry of a batch says of it."""
    return {"arrangement": slot, "ordered": ordered or ""}
