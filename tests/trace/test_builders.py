"""Builders: what is built in pieces is what would have been built at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import Batch, build_batch, merge_batches
from penstock.trace.builders import merge_runs
from tests.trace.reference import is_sorted_and_consolidated, ordered_batch
from tests.trace.samples import Entry, batch_of, entries

identities = pytest.mark.parametrize("by_row", [True, False], ids=["by row", "by key"])


def same_rows(left: Batch, right: Batch) -> bool:
    """Whether two batches have the same rows in the same order."""
    names = left.sums.keys() | right.sums.keys()
    return (
        np.array_equal(left.order, right.order)
        and np.array_equal(left.key_lo, right.key_lo)
        and (left.row_lo is None) == (right.row_lo is None)
        and (left.row_lo is None or right.row_lo is None or np.array_equal(left.row_lo, right.row_lo))
        and np.array_equal(left.weights, right.weights)
        and all(
            np.array_equal(left.sums.get(n, left.weights * 0), right.sums.get(n, right.weights * 0))
            for n in names
        )
        and [column.to_pylist() for column in left.values] == [column.to_pylist() for column in right.values]
    )


def check_pieces(batches: Sequence[Batch], size: int) -> None:
    pieces = list(merge_runs(batches, rows=size))
    whole = merge_batches(batches)
    assert all(len(piece) and is_sorted_and_consolidated(piece) for piece in pieces)
    assert sum(len(set(piece.order.tolist())) for piece in pieces) == len(set(whole.order.tolist()))
    most = max(size, len(batches))
    assert all(len(piece) <= most or len(set(piece.order.tolist())) == 1 for piece in pieces)
    assert same_rows(merge_batches(pieces) if pieces else whole.slice(0, 0), whole)


@identities
@given(parts=st.lists(entries, min_size=1, max_size=5), size=st.integers(1, 30))
@settings(deadline=None, max_examples=60)
def test_a_merge_in_pieces_is_the_merge(parts: list[list[Entry]], size: int, by_row: bool) -> None:
    check_pieces([batch_of(rows, by_row=by_row) for rows in parts], size)


@given(
    parts=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3).map(lambda i: 2**62 + i), st.integers(-2, 2)))
    ).filter(len),
    size=st.integers(1, 30),
)
@settings(deadline=None, max_examples=40)
def test_ties_are_in_the_same_order_in_pieces(parts: list[list[tuple[int, int, int]]], size: int) -> None:
    batches = [
        ordered_batch(
            [(key << 32, key) for key, _, _ in rows],
            pa.array([value for _, value, _ in rows], pa.int64()),
            [weight for _, _, weight in rows],
            descending=False,
        )
        for rows in parts
    ]
    check_pieces(batches, size)


def test_deletions_cancel_and_leave_no_piece() -> None:
    words = np.arange(1000, dtype=np.uint64)
    some = build_batch(words, words, None, np.ones(1000, np.int64))
    gone = build_batch(words, words, None, -np.ones(1000, np.int64))
    assert list(merge_runs([some, gone], rows=64)) == []
    assert list(merge_runs([], rows=64)) == list(merge_runs([some.slice(0, 0)], rows=64)) == []


@pytest.mark.parametrize("sizes", [[20_000, 20_000], [40_000, 10, 300, 1], [5_000] * 8])
def test_pieces_are_not_much_smaller_than_asked_for(sizes: list[int]) -> None:
    rng = np.random.default_rng(5)
    batches = []
    for size in sizes:
        words = rng.integers(0, 2**64, size, dtype=np.uint64)
        batches.append(build_batch(words, words, None, np.ones(size, np.int64)))
    pieces = [len(piece) for piece in merge_runs(batches, rows=2_000)]
    assert max(pieces) <= 2_000
    assert len(pieces) <= 2 * sum(sizes) / 2_000 + 4


def test_inputs_of_disjoint_ranges_are_read_one_after_the_other() -> None:
    words = np.arange(10_000, dtype=np.uint64)
    ones = np.ones(5_000, np.int64)
    low, high = (build_batch(half, half, None, ones) for half in (words[:5_000], words[5_000:]))
    pieces = list(merge_runs([high, low], rows=1_000))
    assert np.array_equal(np.concatenate([piece.order for piece in pieces]), words)
    assert max(map(len, pieces)) <= 1_000
