"""A worker's arrangements: opened from segments, extended when a step is accepted, written from snapshots.

In which form a batch is written is decided in :mod:`penstock.trace.form`; the reader sees from the entry
which form it has. With a ``merger`` large merges run in its threads.

A large batch is in blocks, of which only those are read that a step needs. Batches and blocks stay within a
budget (:mod:`.memory`): after every step the largest arrangements leave memory until it is met.

Opening is lazy per arrangement: a stage of a staged step only touches what its level stores. Segments are
cached in the process by name (they are immutable), so reopening the next version maps no file twice.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import chain

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.circuit.operator import Operator
from penstock.circuit.operators.table import Table
from penstock.circuit.operators.view import View
from penstock.errors import CorruptionError
from penstock.schedule.memory import MemoryBudget
from penstock.schedule.occupancy import Occupancy
from penstock.schedule.snapshot import PACKED, Snapshot
from penstock.schedule.storage_counts import StorageCounts
from penstock.storage import Backend, BatchRef, BlockForm, Entry, Pool, Segment
from penstock.storage.resident import Derive
from penstock.trace import Batch, Spine, unpack
from penstock.trace.filing import Filing
from penstock.trace.form import Purpose, Shape, form_of
from penstock.trace.order import Ordered
from penstock.trace.stored import BLOCKS
from penstock.trace.turns import Turns
from penstock.zset import HashSeed

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
    """Releases all unused segments: a deleted file keeps its space while it is mapped."""
    _cache.clear()


class Arrangements:
    """All arrangements of one worker. One that is not in the version is empty."""

    def __init__(
        self,
        backend: Backend,
        layout: Layout,
        worker: int,
        stored: Mapping[str, Sequence[BatchRef]],
        owners: Mapping[str, Operator],
        seed: HashSeed,
        *,
        memory: MemoryBudget,
        version: int = 0,
        compact: bool = False,
        merger: Executor | None = None,
    ) -> None:
        self._backend, self._layout, self._worker, self._owners = backend, layout, worker, owners
        self._stored, self._seed, self._compact = stored, seed, compact
        self._merger, self._memory = merger, memory
        self._filing = Filing(
            backend, worker, Pool(memory.blocks(0)), self._derive, self._form, large_bytes=memory.merged
        )
        self._filing.snapshot_taken(version)
        self._spines: dict[str, Spine] = {}
        self._occupancy = Occupancy()
        self._added_bytes = self._committed_bytes = 0
        self._looked_into = False

    def spine(self, slot: str) -> Spine:
        """The arrangement's spine, opened on first use."""
        if slot not in self._spines:
            spine = Spine(self._owners[slot].fan, self._merger, filing=self._filing, slot=slot)
            for ref in sorted(self._stored.get(slot, ()), key=lambda ref: -ref.rows):
                self._load(spine, slot, ref)
            spine.merge_small()
            self._spines[slot] = spine
        return self._spines[slot]

    def _load(self, spine: Spine, slot: str, ref: BatchRef) -> None:
        """Adds this worker's slices of a stored batch."""
        segment = open_segment(self._backend, ref.segment)
        segment.expect(ref.entry, ref.crc32c)
        whole = self._unpacked(segment, slot, ref.entry)
        batch, length = whole.slice(ref.start, ref.stop), segment.entries[ref.entry].length
        for start, stop in self._layout.slices(self._worker, batch):
            place = replace(ref, start=ref.start + start, stop=ref.start + stop)
            stored = length * (stop - start) // max(1, len(whole))
            self._occupancy.note(ref.segment, stored)
            spine.load(batch.slice(start, stop), place, stored)

    def _part(self, slot: str, ref: BatchRef) -> Batch:
        """A part of an arrangement as it is stored; may be called in another thread."""
        segment = Segment.open(self._backend, ref.segment)
        segment.expect(ref.entry, ref.crc32c)
        return self._unpacked(segment, slot, ref.entry).slice(ref.start, ref.stop)

    def _derive(self, slot: str) -> Derive | None:
        """Computes words from values, if the arrangement's operator can."""
        words, seed = self._owners[slot].words, self._seed
        return None if words is None else lambda values, rows: words(values, rows, seed)

    def _form(self, slot: str, shape: Shape) -> BlockForm | None:
        owner = self._owners[slot]
        return form_of(shape, purpose_of(owner), derivable=owner.words is not None, compact=self._compact)

    def _unpacked(self, segment: Segment, slot: str, number: int) -> Batch:
        entry = segment.entries[number]
        ordered: Ordered = entry.meta.get("ordered") or None  # type: ignore[assignment]
        if entry.kind == BLOCKS:
            return self._filing.whole(segment, number, ordered)
        block = segment.read(number)
        if entry.kind != PACKED:
            return Batch.from_arrow(block, ordered=ordered)
        try:
            return unpack(block, self._derive(slot), ordered)
        except (pa.ArrowException, ValueError) as error:
            raise CorruptionError(
                f"{segment.name}: block {number} ({entry.describe()}) cannot be unpacked: {error}"
            ) from error

    def continue_merging(self) -> bool:
        """Continues background merging; False if there is nothing left to do."""
        return sum(spine.continue_merging() for spine in self._spines.values()) > 0

    def settle(self) -> None:
        """The same, but waits until it is finished."""
        for spine in self._spines.values():
            spine.settle()

    @property
    def are_remote(self) -> bool:
        """Whether waiting for what is on file takes long."""
        return self._backend.is_remote

    @property
    def pool(self) -> Pool:
        """The blocks that are in memory of batches on file."""
        return self._filing.pool

    @property
    def turns(self) -> Turns:
        """Lets steps go before merges."""
        return self._filing.turns

    @property
    def bytes_in_memory(self) -> int:
        """What batches take, without blocks of batches on file."""
        return self._filing.bytes_in_memory

    def added(self, size: int) -> None:
        """Counts what a step added, in bytes."""
        self._added_bytes += size

    def _counts(self, written: int) -> StorageCounts:
        """What the storage has done, after a commit has written so many bytes more."""
        self._committed_bytes += written
        pool = self.pool.counts
        return StorageCounts(
            budget_bytes=self._memory.total,
            batches_bytes=self.bytes_in_memory,
            blocks_bytes=pool.bytes_held,
            added_bytes=self._added_bytes,
            written_bytes=self._committed_bytes + self._filing.bytes_written,
            block_hits=pool.hits,
            block_misses=pool.misses,
            block_evictions=pool.evictions,
            read_bytes=pool.bytes_read,
        )

    def make_room(self) -> None:
        """To be called after a step: if batches take more memory than they should, the largest arrangements
        begin to leave it. Waits only if they take far more."""
        if self.bytes_in_memory > self._memory.batches:
            self._leave_memory()
            while self.bytes_in_memory > self._memory.most:
                merging = [spine for spine in self._spines.values() if spine.is_merging]
                if not merging:
                    break
                max(merging, key=lambda spine: spine.bytes_in_memory).wait()
                self._leave_memory()
        self.pool.budget = self._memory.blocks(self.bytes_in_memory)

    def _leave_memory(self) -> None:
        excess = self.bytes_in_memory - self._memory.batches
        for spine in sorted(self._spines.values(), key=lambda spine: -spine.bytes_in_memory):
            if excess <= 0 or not spine.bytes_in_memory:
                break
            excess -= spine.bytes_in_memory if spine.is_merging else spine.leave_memory()

    def snapshot(
        self, version: int, slots: Iterable[str], changes: Mapping[str, Sequence[pa.RecordBatch]]
    ) -> Snapshot:
        """The batches of ``slots`` as they are now, and ``changes``, to be written."""
        with self._filing.lock:
            for spine in self._spines.values():
                spine.follow_rewritten()
                spine.take_published()
            held = {slot: self.spine(slot).held for slot in slots}
            self._filing.snapshot_taken(version)
        sparse: frozenset[str] = frozenset()
        if held.keys() == self._owners.keys():  # otherwise it is not known what else is in use
            self._look_into_segments()
            sparse = self._occupancy.sparse(chain.from_iterable(held.values()))
        return Snapshot(
            self._backend,
            self._worker,
            version,
            held,
            changes,
            self._form,
            self._part,
            sparse=sparse,
            occupancy=self._occupancy,
            counts=self._counts,
            turns=self.turns,
        )

    def _look_into_segments(self) -> None:
        """Once: a segment of the manifest may hold more than all workers together use of it."""
        if self._looked_into:
            return
        self._looked_into = True
        used: Counter[str] = Counter()
        for ref in chain.from_iterable(self._stored.values()):
            entry = open_segment(self._backend, ref.segment).entries[ref.entry]
            used[ref.segment] += entry.length * ref.rows // _rows(entry)
        for name, size in used.items():
            whole = sum(entry.length for entry in open_segment(self._backend, name).entries)
            self._occupancy.stretch(name, whole / max(1, size))


def purpose_of(operator: Operator) -> Purpose:
    """What an operator's arrangements are for."""
    if isinstance(operator, View):
        return Purpose.VIEW
    return Purpose.TABLE if isinstance(operator, Table) else Purpose.INDEX


def _rows(entry: Entry) -> int:
    """How many rows a batch has; a packed one is stored as a single row."""
    return max(1, int(str(entry.meta.get("rows", entry.rows))))
