"""Batches against the reference: sorted, consolidated, additive, and the same after storage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import Batch, build_batch, merge_batches
from penstock.zset.reference import canonical
from tests.trace.reference import Total, is_sorted_and_consolidated, ordered_batch, totals
from tests.trace.samples import KINDS, Entry, batch_of, entries

identities = pytest.mark.parametrize("by_row", [True, False], ids=["by row", "by key"])


def expected(rows: list[Entry], *, by_row: bool) -> dict[object, Total]:
    found: dict[object, list[int]] = {}
    for word, key_lo, row_lo, *parts in rows:
        sums = found.setdefault((word, key_lo, row_lo if by_row else None), [0, 0, 0])
        for i, part in enumerate(parts):
            sums[i] += part
    return {
        (word, key, row): Total(
            weight,
            tuple((name, total) for name, total in (("a", a), ("b", b)) if total),
            (f"{word}/{key}/{'' if row is None else row}",),
        )
        for (word, key, row), (weight, a, b) in found.items()  # type: ignore[misc]
        if weight or a or b
    }


@identities
@given(rows=entries)
@settings(deadline=None, max_examples=30)
def test_a_batch_is_the_sum_of_its_rows(rows: list[Entry], by_row: bool) -> None:
    batch = batch_of(rows, by_row=by_row)
    assert is_sorted_and_consolidated(batch)
    assert totals([batch]) == expected(rows, by_row=by_row)
    assert len(batch) == len(expected(rows, by_row=by_row))


@identities
@given(parts=st.lists(entries, min_size=1, max_size=5))
@settings(deadline=None, max_examples=30)
def test_a_merge_is_the_sum_of_its_batches(parts: list[list[Entry]], by_row: bool) -> None:
    merged = merge_batches([batch_of(rows, by_row=by_row) for rows in parts])
    assert is_sorted_and_consolidated(merged)
    assert totals([merged]) == expected([row for rows in parts for row in rows], by_row=by_row)


def test_keys_that_collide_in_the_whole_word_stay_apart() -> None:
    batch = build_batch(
        np.array([9, 9, 9, 9], np.uint64),
        np.array([2, 1, 2, 1], np.uint64),
        None,
        np.array([1, 10, 1, 10], np.int64),
        (pa.array(["two", "one", "two", "one"]),),
    )
    assert batch.key_lo.tolist() == [1, 2]
    assert batch.weights.tolist() == [20, 2]
    assert batch.values[0].to_pylist() == ["one", "two"]


def test_a_row_lives_while_any_component_is_not_zero() -> None:
    word = np.array([1, 2], np.uint64)
    weights, sums = np.zeros(2, np.int64), {"x": np.array([0, 5], np.int64), "y": np.zeros(2, np.int64)}
    batch = build_batch(word, word, None, weights, (), sums)
    assert batch.order.tolist() == [2]
    assert {name: column.tolist() for name, column in batch.sums.items()} == {"x": [5]}


def test_merging_batches_with_different_columns_of_sums_counts_a_missing_one_as_zero() -> None:
    def one(**sums: int) -> Batch:
        columns = {name: np.array([total], np.int64) for name, total in sums.items()}
        word = np.array([4], np.uint64)
        return build_batch(word, word, None, np.array([1], np.int64), (), columns)

    merged = merge_batches([one(a=1), one(b=2), one(a=-1, c=0)])
    assert merged.weights.tolist() == [3]
    assert {name: column.tolist() for name, column in merged.sums.items()} == {"b": [2]}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=10)
def test_an_ordered_batch_sorts_ties_of_the_image_by_value(
    kind: str, descending: bool, data: st.DataObject
) -> None:
    arrow_type, strategy = KINDS[kind]
    key = st.sampled_from(((0, 1), (0, 2), (7 << 32, 1)))
    rows = data.draw(st.lists(st.tuples(strategy, key, st.integers(-2, 2)), max_size=30))
    keys, weights = [key for _, key, _ in rows], [weight for _, _, weight in rows]
    array = pa.array([value for value, _, _ in rows], arrow_type)
    half = len(rows) // 2
    whole = ordered_batch(keys, array, weights, descending=descending)
    parts = [
        ordered_batch(keys[:half], array[:half], weights[:half], descending=descending),
        ordered_batch(keys[half:], array[half:], weights[half:], descending=descending),
    ]
    merged = merge_batches(parts)
    assert is_sorted_and_consolidated(whole)
    assert is_sorted_and_consolidated(merged)
    assert totals([whole]) == totals([merged]) == totals(parts)
    assert list(map(canonical, merged.values[0].to_pylist())) == list(
        map(canonical, whole.values[0].to_pylist())
    )


@identities
@given(rows=entries, cut=st.tuples(st.integers(0, 40), st.integers(0, 40)))
@settings(deadline=None, max_examples=20)
def test_a_slice_is_stored_and_read_back_as_it_was(
    rows: list[Entry], cut: tuple[int, int], by_row: bool
) -> None:
    batch = batch_of(rows, by_row=by_row)
    start, stop = sorted(min(end, len(batch)) for end in cut)
    part = batch.slice(start, stop)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.to_arrow().schema) as writer:
        writer.write_batch(part.to_arrow())
    again = Batch.from_arrow(pa.ipc.open_stream(sink.getvalue()).read_next_batch())
    assert totals([again]) == totals([part])
    assert totals([batch.slice(0, start), again, batch.slice(stop, len(batch))]) == totals([batch])
    assert totals([merge_batches([batch, again])]) == totals([batch, part])


def test_an_ordered_batch_keeps_its_direction_through_storage() -> None:
    batch = ordered_batch([(0, 1)] * 3, pa.array([1, 3, 2]), [1, 1, 1], descending=True)
    again = Batch.from_arrow(batch.slice(0, 2).to_arrow(), ordered=batch.ordered)
    assert again.ordered == "descending"
    assert again.values[0].to_pylist() == [3, 2]


@given(rows=entries)
@settings(deadline=None, max_examples=30)
def test_rows_that_share_their_word_come_in_the_order_that_is_asked_for(rows: list[Entry]) -> None:
    word, key, row = (np.array([entry[i] for entry in rows], np.uint64) for i in range(3))
    within = row ^ key ^ np.uint64(5)
    weights = np.array([entry[3] for entry in rows], np.int64)
    batch = build_batch(word, key, row, weights, within=within)
    assert batch.row_lo is not None
    order = list(zip(batch.order, batch.row_lo ^ batch.key_lo ^ np.uint64(5), strict=True))
    assert order == sorted(order)
    plain = build_batch(word, key, row, weights)
    assert totals([batch]) == totals([plain])


def test_an_empty_batch_merges_with_anything() -> None:
    some = batch_of([(1, 5, 3, 1, 0, 2)], by_row=True)
    none = batch_of([], by_row=True)
    assert len(none) == 0
    assert totals([merge_batches([none, some, none])]) == totals([some])
    assert len(merge_batches([none, none])) == 0
