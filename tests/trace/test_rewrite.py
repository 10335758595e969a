"""Rewrites: rows are left out, or their times advanced, and what is left is a batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import Batch, Kind, Time, advance, build_batch, merge_batches, retain, sum_of
from penstock.trace.order import order_image
from penstock.trace.rewrite import retaining, rewritten
from tests.trace.layers import Files, many, times, unsorted
from tests.trace.reference import is_sorted_and_consolidated

KEY = np.uint64(7 << 32)
AWAY = 2**62  # where the image of a number has steps of more than one: values share their words

PAGES = 4000  # rows that take several pages of memory in each column

Row = tuple[int, Time, int]  # value, time, weight
rows_of_a_key = st.lists(st.tuples(st.integers(AWAY, AWAY + 3), times, st.integers(-2, 2)), max_size=30)


def ordered(rows: list[Row]) -> Batch:
    values = pa.array([value for value, _, _ in rows], pa.int64())
    return build_batch(
        KEY | order_image(values, descending=False),
        np.zeros(len(rows), np.uint64),
        np.array([value % 4 * 1_000 for value, _, _ in rows], np.uint64),
        np.array([weight for _, _, weight in rows], np.int64),
        (values,),
        ordered="ascending",
        times=np.array([time.word for _, time, _ in rows], np.uint64),
    )


def history(rows: list[Row]) -> dict[tuple[int, int], int]:
    """The weight of each value at each time."""
    found: dict[tuple[int, int], int] = {}
    for value, time, weight in rows:
        at = (value, int(time.word))
        found[at] = found.get(at, 0) + weight
    return {at: weight for at, weight in found.items() if weight}


@given(st.lists(rows_of_a_key, min_size=1, max_size=3), times)
@settings(deadline=None, max_examples=60)
def test_values_stay_in_order_when_rows_have_times(parts: list[list[Row]], start: Time) -> None:
    merged = merge_batches([ordered(rows) for rows in parts])
    later = advance(merged, [start])
    every = [row for rows in parts for row in rows]
    moved = [(v, Time(max(t.step, start.step), max(t.iteration, start.iteration)), w) for v, t, w in every]
    for batch, rows in ((merged, every), (later, moved)):
        assert batch.times is not None
        values = batch.values[0].to_pylist()
        assert values == sorted(values) and is_sorted_and_consolidated(batch)
        found = zip(values, batch.times.tolist(), strict=True)
        assert dict(zip(found, batch.weights.tolist(), strict=True)) == history(rows)


def test_what_does_not_change_is_not_copied() -> None:
    batch = sum_of([unsorted(Kind.VAL, many(1, 50))])
    assert retain(batch, lambda rows: np.ones(len(rows), np.bool_)) is batch
    assert advance(batch, [Time(0, 0)]) is batch
    assert advance(advance(batch, [Time(2, 1)]), [Time(2, 1)]) is not batch


def test_nothing_may_be_left() -> None:
    batch = sum_of([unsorted(Kind.VAL, many(1, 50))])
    none = retain(batch, lambda rows: np.zeros(len(rows), np.bool_))
    assert len(none) == 0 and none.kind is Kind.VAL and none.to_columns().schema == batch.to_columns().schema


def test_a_result_outlives_the_blocks_that_it_came_from(tmp_path: Path) -> None:
    files = Files(tmp_path, compressed=True)
    batch = sum_of([unsorted(Kind.INDEXED_ZSET, many(3, PAGES))])
    half = int(batch.order[len(batch) // 2])
    stored = files.stored(batch)
    kept = rewritten(stored, retaining(lambda rows: rows.order < np.uint64(half)), rows=len(batch) // 2)
    wanted = batch.slice(0, int(np.searchsorted(batch.order, half))).to_columns()
    files.drop()
    assert kept.whole().to_columns().equals(wanted)


def test_a_merge_with_an_empty_batch_keeps_asking_for_blocks(tmp_path: Path) -> None:
    files = Files(tmp_path, compressed=True)
    batch = sum_of([unsorted(Kind.INDEXED_ZSET, many(3, PAGES))])
    stored = files.stored(batch)
    merged = merge_batches([stored, batch.slice(0, 0)])
    files.drop()
    assert merged.whole().to_columns().equals(batch.to_columns())
