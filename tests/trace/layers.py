"""Random updates of all four kinds of batches, and batches of them in memory and on file."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from penstock.storage import BlockForm, Codec, LocalBackend, Pool, Segment, SegmentWriter
from penstock.trace import Batch, Kind, Time
from penstock.trace.batch import WORDS
from penstock.trace.stored import BLOCKS, stored_batch
from tests.trace.reference import ReferenceBatch, Total, Update

HIGHS = (0, 1 << 32, 7 << 32, 8 << 32, 0xFFFFFFFF << 32)
LOWS = (0, 1, 0xFFFFFFFF)
LANES = (0, 5, 2**64 - 1)
ROWS = (3, 4)
BLOCK_ROWS = 8


class Entry(NamedTuple):
    """One update. Which of these belong to its identity depends on the kind of the batch."""

    high: int
    low: int
    lane: int
    row: int
    time: Time
    weight: int
    first: int
    second: int

    def identity(self, kind: Kind) -> Update:
        """As in a batch. Without values the whole word belongs to the key, so it follows from the rest."""
        has_values = kind in (Kind.INDEXED_ZSET, Kind.VAL)
        low = self.low if has_values else LOWS[LANES.index(self.lane) % 2]
        time = int(self.time.word) if kind in (Kind.KEY, Kind.VAL) else None
        return Update(self.high | low, self.lane, self.row if has_values else None, time)


small = st.integers(-2, 2)
times = st.builds(Time, st.integers(0, 3), st.integers(0, 3))
some_entries = st.builds(
    Entry,
    st.sampled_from(HIGHS),
    st.sampled_from(LOWS),
    st.sampled_from(LANES),
    st.sampled_from(ROWS),
    times,
    small,
    small,
    small,
)
entries = st.lists(some_entries, max_size=40)
bounds = st.one_of(
    st.builds(lambda high, low: high | low, st.sampled_from(HIGHS), st.sampled_from(LOWS)),
    st.integers(0, 2**64 - 1),
)


def many(seed: int, size: int) -> list[Entry]:
    """Random updates of many keys."""
    rng = np.random.default_rng(seed)
    return [
        Entry(
            int(rng.integers(0, 1 + size // 3)) << 32,
            int(rng.choice(LOWS)),
            int(rng.choice(np.array(LANES, np.uint64))),
            int(rng.choice(ROWS)),
            Time(int(rng.integers(0, 4)), int(rng.integers(0, 4))),
            int(rng.integers(-1, 3)),
            int(rng.integers(-1, 2)),
            0,
        )
        for _ in range(size)
    ]


def values_of(identity: Update) -> tuple[str | None, int, bool]:
    """Equal rows have equal values, whatever their time is."""
    number = identity.lane % 1000 + (identity.word >> 32) % 1000 + (identity.row or 0)
    text = None if number % 7 == 0 else f"{identity.word}/{identity.lane}/{identity.row}"
    return text, number, number % 2 == 0


def reference(kind: Kind, rows: Sequence[Entry]) -> ReferenceBatch:
    """What the updates add up to."""
    found = ReferenceBatch({})
    for entry in rows:
        sums = tuple((name, n) for name, n in (("a", entry.first), ("b", entry.second)) if n)
        identity = entry.identity(kind)
        if entry.weight or sums:
            found = found.plus(ReferenceBatch({identity: Total(entry.weight, sums, values_of(identity))}))
    return found


def unsorted(kind: Kind, rows: Sequence[Entry]) -> Batch:
    """The updates as they come, in the columns of a batch."""
    found = [entry.identity(kind) for entry in rows]
    values = [values_of(identity) for identity in found]
    has_values, has_times = kind in (Kind.INDEXED_ZSET, Kind.VAL), kind in (Kind.KEY, Kind.VAL)
    return Batch(
        np.array([identity.word for identity in found], np.uint64),
        np.array([identity.lane for identity in found], np.uint64),
        np.array([identity.row for identity in found], np.uint64) if has_values else None,
        np.array([entry.weight for entry in rows], np.int64),
        (
            pa.array([text for text, _, _ in values], pa.string()),
            pa.array([number for _, number, _ in values], pa.int64()),
            pa.array([flag for _, _, flag in values], pa.bool_()),
        ),
        {
            "a": np.array([entry.first for entry in rows], np.int64),
            "b": np.array([entry.second for entry in rows], np.int64),
        },
        times=np.array([identity.time for identity in found], np.uint64) if has_times else None,
    )


class Files:
    """Batches on file in a folder, in small blocks, in one pool that holds as little as it can."""

    def __init__(self, folder: Path, *, compressed: bool) -> None:
        self.backend, self.pool = LocalBackend(folder), Pool(0)
        self._compressed = compressed
        self._number = itertools.count()

    @property
    def form(self) -> BlockForm:
        """With filters in both forms, which lookups consult."""
        codec = Codec.PACKED if self._compressed else Codec.PLAIN
        return BlockForm(codec, filtered="key_lo", block_rows=BLOCK_ROWS)

    def name(self) -> str:
        return f"segments/{next(self._number)}.seg"

    def stored(self, batch: Batch) -> Batch:
        """The same batch on file; empty ones are never stored."""
        if len(batch) == 0:
            return batch
        rows = batch.whole().to_columns()
        name = self.name()
        writer = SegmentWriter(self.backend, name)
        writer.add_blocks(BLOCKS, {}, rows, self.form)
        writer.finish()
        return self.open(name)

    def open(self, name: str) -> Batch:
        segment = Segment.open(self.backend, name)
        return stored_batch(segment.columns(0, self.pool, searched=WORDS), None)

    def opened_again(self, batch: Batch) -> Batch:
        """The same batch, with nothing of it read yet. Where it is compressed there are zeros until then."""
        if batch.backing is None:
            return batch
        backing = batch.backing.private(self.pool)
        whole = stored_batch(backing.columns, batch.ordered)
        return whole.slice(backing.start, backing.start + len(batch))

    def drop(self) -> None:
        """Makes the pool drop all blocks, as it may between steps. Memory is given back in whole pages only:
        what is left of small batches is still there."""
        self.pool.trim()
        self.pool.trim()
        assert self.pool.held == 0
