"""Layouts: every key has one owner, and any number of workers can share any stored batch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Delta
from penstock.circuit.layout import SHARD_BITS, Layout
from penstock.trace import build_batch
from penstock.zset import Hashes, ZSet

EDGES = [0, 1, 2**54 - 1, 2**54, 2**63 - 1, 2**63, 2**64 - 1]  # around the borders of shards
words = st.lists(st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1)), max_size=50)
SCHEMA = pa.schema([("n", pa.int64())])


def _delta(keys: list[int]) -> Delta:
    zset = ZSet(SCHEMA, (pa.array(range(len(keys)), pa.int64()),), np.ones(len(keys), np.int64))
    hi = np.array(keys, np.uint64)
    return Delta(zset, Hashes(hi, hi), {"s": np.arange(len(keys))})


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Even layouts, and any assignment of 1 to 16 shards."""
    workers = draw(st.integers(1, 9))
    if draw(st.booleans()):
        return Layout.even(workers)
    shards = 1 << draw(st.integers(0, 4))
    owner = st.integers(0, workers - 1)
    return Layout(workers, tuple(draw(st.lists(owner, min_size=shards, max_size=shards))))


@given(layout=layouts(), keys=words)
@settings(deadline=None, max_examples=48)
def test_split_is_a_partition_that_keeps_rows_whole_and_in_order(layout: Layout, keys: list[int]) -> None:
    delta = _delta(keys)
    parts = layout.split(delta)
    seen: list[int] = []
    for worker, part in parts:
        assert part.keys is not None
        rows = part.zset.columns[0].to_pylist()
        assert rows and rows == sorted(rows)  # push order within a worker
        assert set(layout.workers_of(part.keys).tolist()) <= {worker} or layout.workers == 1
        assert part.keys.hi.tolist() == [keys[row] for row in rows]
        assert part.sums["s"].tolist() == rows
        seen += rows
    assert sorted(seen) == list(range(len(keys)))
    assert len({worker for worker, _ in parts}) == len(parts)


@given(layout=layouts())
@settings(deadline=None, max_examples=30)
def test_ranges_cover_every_word_once(layout: Layout) -> None:
    ranges = sorted(r for worker in range(layout.workers) for r in layout.ranges(worker))
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 2**64 - 1
    for (_, last), (first, _) in pairwise(ranges):
        assert last + 1 == first


@given(layout=layouts(), keys=words)
@settings(deadline=None, max_examples=48)
def test_slices_of_a_batch_cover_every_row_once_and_agree_with_split(layout: Layout, keys: list[int]) -> None:
    hi = np.array(keys, np.uint64)
    batch = build_batch(hi, hi, None, np.ones(len(hi), np.int64))
    covered: list[int] = []
    for worker in range(layout.workers):
        for start, stop in layout.slices(worker, batch):
            assert start < stop
            part = Hashes(batch.order[start:stop], batch.key_lo[start:stop])
            assert layout.workers_of(part).tolist() == [worker] * (stop - start)
            covered += range(start, stop)
    assert sorted(covered) == list(range(len(batch)))


@pytest.mark.parametrize("workers", [1, 2, 3, 8, 1 << SHARD_BITS])
def test_an_even_layout_is_even_and_contiguous(workers: int) -> None:
    layout = Layout.even(workers)
    counts = [layout.assignment.count(worker) for worker in range(workers)]
    assert max(counts) - min(counts) <= 1
    assert all(len(layout.ranges(worker)) == 1 for worker in range(workers))


@pytest.mark.parametrize("workers", [0, -1, (1 << SHARD_BITS) + 1])
def test_a_number_of_workers_without_shards_is_refused(workers: int) -> None:
    with pytest.raises(ValueError, match="number of workers"):
        Layout.even(workers)
