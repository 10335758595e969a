"""What a commit writes, and into which files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import penstock.schedule.snapshot as snapshot
from penstock.schedule.snapshot import Snapshot, joined
from penstock.schedule.state import open_segment
from penstock.storage import BatchRef, MemoryBackend
from penstock.trace import Batch, Held, Stored
from penstock.zset import width


def _held(rows: int) -> Held:
    words = np.arange(rows, dtype=np.uint64)
    batch = Batch(words, words, None, np.ones(rows, np.int64), (pa.array(range(rows)), pa.nulls(rows)))
    return Held(batch, Stored(unwritten=(batch,)))


def test_a_large_batch_has_a_segment_of_its_own_and_small_ones_share_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "OWN_SEGMENT_BYTES", 10_000)
    backend = MemoryBackend()
    held = {"a": [_held(1000), _held(10)], "b": [_held(2000), _held(20)], "c": [_held(30)]}
    reply = Snapshot(backend, 0, 7, held, {}).write()
    places = {(slot, ref.stop): ref.segment for slot, refs in reply.arrangements.items() for ref in refs}
    large = {places["a", 1000], places["b", 2000]}
    shared = {places["a", 10], places["b", 20], places["c", 30]}
    assert len(large) == 2 and len(shared) == 1 and not large & shared
    assert set(backend.list("segments/")) == large | shared
    for (_, rows), name in places.items():
        assert rows in [entry.rows for entry in open_segment(backend, name).entries]
    # What is stored already is not written again.
    assert Snapshot(backend, 0, 8, held, {}).write().arrangements == reply.arrangements
    assert set(backend.list("segments/")) == large | shared


def test_a_batch_in_a_sparse_segment_is_written_again() -> None:
    backend = MemoryBackend()
    held = {"a": [_held(10)], "b": [_held(20)]}
    first = Snapshot(backend, 0, 1, held, {}).write().arrangements["a"][0].segment

    def read(slot: str, ref: BatchRef) -> Batch:
        return Batch.from_arrow(open_segment(backend, ref.segment).read(ref.entry)).slice(ref.start, ref.stop)

    moved = Snapshot(backend, 0, 2, held, {}, read=read, sparse=frozenset({first})).write().arrangements
    [again] = {ref.segment for refs in moved.values() for ref in refs}
    assert again != first
    assert sorted(entry.rows for entry in open_segment(backend, again).entries) == [10, 20]


def test_only_what_is_unwritten_of_a_batch_is_written_as_one_more_part() -> None:
    backend = MemoryBackend()
    [first, more] = _held(10), _held(5)
    refs = Snapshot(backend, 0, 1, {"a": [first]}, {}).write().arrangements["a"]
    merged = Held(first.batch, Stored(first.stored.parts, (more.batch, more.batch)))
    again = Snapshot(backend, 0, 2, {"a": [merged]}, {}).write().arrangements["a"]
    assert again[:1] == refs and [ref.rows for ref in again] == [10, 5]
    assert merged.refs == again and not merged.stored.unwritten
    gone = Batch(more.batch.order, more.batch.key_lo, None, -more.batch.weights, more.batch.values)
    cancelled = Held(first.batch, Stored(first.stored.parts, (more.batch, gone)))
    assert Snapshot(backend, 0, 3, {"a": [cancelled]}, {}).write().arrangements["a"] == refs


def test_parts_are_joined_into_as_few_batches_as_can_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [pa.record_batch({"t": [f"text number {n}"]}) for n in range(10)]
    [whole] = joined(parts)
    assert whole.num_rows == 10
    monkeypatch.setattr(width, "MOST_BYTES", 100)
    several = joined(parts)
    assert 1 < len(several) < 10
    assert pa.Table.from_batches(several).equals(pa.Table.from_batches(parts).combine_chunks())
