"""Batches in blocks on file answer like those in memory, whatever of them is resident."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import CorruptionError
from penstock.storage import BlockForm, Codec, LocalBackend, MemoryBackend, Pool, Segment, SegmentWriter
from penstock.storage.resident import FILTERS, OTHERS, SEARCHED
from penstock.trace import Batch, build_batch, lookup_rows, lookup_sums, merge_batches
from penstock.trace.batch import WORDS
from penstock.trace.lookup import bounds_of
from penstock.trace.stored import BLOCKS, merge_to_draft, stored_batch
from penstock.zset import Hashes

HOW = ["plain", "small", "derived", "filtered"]
FORMS = {
    "plain": BlockForm(block_rows=16),
    "small": BlockForm(Codec.PACKED, tight=True, block_rows=16),
    "derived": BlockForm(Codec.PACKED, dict.fromkeys(WORDS, Codec.DERIVED), filtered="key_lo", block_rows=16),
    "filtered": BlockForm(Codec.PACKED, dict.fromkeys(WORDS, Codec.PLAIN), filtered="key_lo", block_rows=16),
}
RNG = np.random.default_rng(7)
SEED = np.uint64(0x9E3779B97F4A7C15)


def words_of(values: Sequence[pa.Array], rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words that follow from the first value; several rows share a key."""
    number = values[0].to_numpy().astype(np.uint64)
    key = (number // np.uint64(3)) * SEED
    row = number * SEED
    high = np.uint64(0xFFFFFFFF00000000)
    return (key & high) | (row >> np.uint64(32)), key, row


def batch_of(numbers: Sequence[int], sign: int = 1) -> Batch:
    unique = np.unique(np.array(numbers, np.int64))
    texts = pa.array([None if n % 7 == 0 else "x" * (n % 5) + str(n) for n in unique.tolist()], pa.string())
    flags = pa.array([None if n % 11 == 0 else n % 2 == 0 for n in unique.tolist()], pa.bool_())
    values = (pa.array(unique), texts, flags, pa.nulls(len(unique)))
    weights = np.full(len(unique), sign)
    return build_batch(*words_of(values, len(unique)), weights, values, {"a": weights * 3})


def filed(batch: Batch, how: str, budget: int | None, folder: Path | None = None) -> Batch:
    backend = MemoryBackend() if folder is None else LocalBackend(folder)
    rows = batch.to_columns()
    writer = SegmentWriter(backend, "segments/a.seg")
    writer.add_blocks(BLOCKS, {}, rows, FORMS[how])
    writer.finish()
    columns = Segment.open(backend, "segments/a.seg").columns(
        0, Pool(budget), searched=WORDS, derive=words_of if how == "derived" else None
    )
    return stored_batch(columns, batch.ordered)


def keys_of(batch: Batch, numbers: Sequence[int]) -> Hashes:
    order, key, _ = words_of([pa.array(np.array(numbers, np.int64))], len(numbers))
    return Hashes(order, key)


numbers = st.lists(st.integers(0, 500), min_size=1, max_size=200)


@pytest.mark.parametrize("how", HOW)
@given(held=numbers, asked=numbers, budget=st.sampled_from([None, 0, 2000]))
@settings(deadline=None, max_examples=40)
def test_lookups_find_what_they_find_in_memory(
    how: str, held: list[int], asked: list[int], budget: int | None
) -> None:
    batch = batch_of(held)
    stored = filed(batch, how, budget)
    keys = keys_of(batch, asked)
    for one in (stored, stored.slice(len(stored) // 3, len(stored))):
        other = batch if one is stored else batch.slice(len(stored) // 3, len(stored))
        for found, wanted in zip(lookup_rows([one], keys), lookup_rows([other], keys), strict=True):
            assert np.array_equal(found.row, wanted.row) and np.array_equal(found.probe, wanted.probe)
            rows = pa.array(found.row)
            assert [v.take(rows) for v in one.values] == [v.take(rows) for v in other.values]
        weights, sums = lookup_sums([one], keys)
        wanted_weights, wanted_sums = lookup_sums([other], keys)
        assert np.array_equal(weights, wanted_weights) and np.array_equal(sums["a"], wanted_sums["a"])
        low, high = keys.hi & np.uint64(0xFFFFFFFF00000000), keys.hi
        for mine, theirs in zip(bounds_of(one, low, high), bounds_of(other, low, high), strict=True):
            assert np.array_equal(mine, theirs)
        one.backing and one.backing.columns._pool.trim()
    assert stored.whole().to_columns().equals(batch.to_columns())


@pytest.mark.parametrize("how", HOW)
@given(parts=st.lists(numbers, min_size=1, max_size=4), cancelled=numbers)
@settings(deadline=None, max_examples=25)
def test_a_merge_to_a_file_is_the_merge(how: str, parts: list[list[int]], cancelled: list[int]) -> None:
    batches = [batch_of(part) for part in parts] + [batch_of(cancelled, -1)]
    whole = merge_batches(batches)
    backend = MemoryBackend()
    draft = merge_to_draft(
        backend, [filed(batches[0], how, 500), *batches[1:]], {"arrangement": "x"}, FORMS[how]
    )
    assert draft.rows == len(whole)
    if not len(whole):
        draft.discard()
        return
    ref, _ = draft.publish("segments/b.seg")
    derive = words_of if how == "derived" else None
    columns = Segment.open(backend, ref.segment).columns(0, Pool(), searched=WORDS, derive=derive)
    merged = stored_batch(columns, None).whole()
    assert merged.to_columns().select(WORDS).equals(whole.to_columns().select(WORDS))
    assert [v.to_pylist() for v in merged.values] == [v.to_pylist() for v in whole.values]
    assert np.array_equal(merged.weights, whole.weights)


def test_a_key_before_a_slice_that_begins_inside_a_block_reads_nothing() -> None:
    batch = batch_of([3, 4, 5])
    stored = filed(batch, "small", None).slice(1, 3)
    assert not list(lookup_rows([stored], keys_of(batch, [0])))
    assert stored.backing is not None and stored.backing.columns.resident_bytes == 0


def test_only_the_blocks_that_hold_the_keys_are_read() -> None:
    batch = batch_of(range(5000))
    stored = filed(batch, "plain", None)
    assert stored.backing is not None
    pool = stored.backing.columns._pool
    assert pool.counts.bytes_read == 0
    list(lookup_rows([stored], keys_of(batch, [77])))
    assert 0 < pool.counts.misses <= 4
    list(lookup_rows([stored], keys_of(batch, [77])))
    assert pool.counts.misses <= 4 and pool.counts.hits > 0


def test_keys_that_are_not_there_touch_filters_only() -> None:
    batch = batch_of(range(0, 30_000, 3))
    stored = filed(batch, "filtered", None)
    assert stored.backing is not None
    columns, others = stored.backing.columns, range(30_000, 60_000, 3)  # three numbers share a key
    assert sum(len(found.row) for found in lookup_rows([stored], keys_of(batch, others))) == 0
    weights, _ = lookup_sums([stored], keys_of(batch, others))
    assert not weights.any()
    read = np.count_nonzero(columns.state[SEARCHED])
    assert columns.state[FILTERS].any() and read < columns.index.blocks // 4
    assert not columns.state[OTHERS].any()


def test_a_pool_stays_within_its_budget_and_reads_again_what_it_dropped() -> None:
    with tempfile.TemporaryDirectory() as folder:
        batch = batch_of(range(3000))
        for how in HOW:
            stored = filed(batch, how, 20_000, Path(folder) / how)
            assert stored.backing is not None
            pool = stored.backing.columns._pool
            for start in range(0, 3000, 100):
                asked = keys_of(batch, range(start, start + 100))
                weights, _ = lookup_sums([stored], asked)
                assert weights.tolist() == [1] * 100
                pool.trim()
                assert pool.held <= 20_000
            assert pool.counts.evictions > 0


@pytest.mark.parametrize("how", HOW)
def test_every_flipped_bit_of_a_chunk_is_found_when_it_is_read_and_named(how: str) -> None:
    backend = MemoryBackend()
    batch = batch_of(range(200))
    rows = batch.to_columns()
    writer = SegmentWriter(backend, "segments/a.seg")
    writer.add_blocks(BLOCKS, {}, rows, FORMS[how])
    writer.finish()
    content = bytes(backend.open("segments/a.seg"))
    sound = Segment.open(backend, "segments/a.seg")
    table = sound.columns(0, Pool(), searched=WORDS).index.chunks
    places = [
        int(offset + length // 2)
        for offset, length in zip(table.offset.ravel(), table.length.ravel(), strict=True)
        if length
    ]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 4
        other = MemoryBackend()
        other.write_new("segments/a.seg", [damaged])
        segment = Segment.open(other, "segments/a.seg")
        stored = stored_batch(
            segment.columns(0, Pool(), searched=WORDS, derive=words_of if how == "derived" else None), None
        )
        with pytest.raises(
            CorruptionError, match=r"segments/a.seg: block \d+, column \w+:?\w* .*damaged.*entry 0: blocks"
        ):
            stored.backing and stored.backing.need_filters()
            stored.whole()
        with pytest.raises(CorruptionError, match=r"segments/a.seg: block"):
            segment.read_copy(other, 0)
