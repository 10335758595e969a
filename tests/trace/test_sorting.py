"""Sorting by several words at once is what NumPy's sort by several columns is, whatever runs there are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import Batch, build_batch, merge_batches
from penstock.trace.comparable_words import comparable_words
from penstock.trace.first_candidates import first_candidates
from penstock.trace.order import dense_rank
from penstock.trace.sorting import order_of, same_as_before
from tests.trace.samples import KINDS

WORD = st.one_of(st.integers(0, 3), st.sampled_from([2**32, 2**63, 2**64 - 1]))


@given(rows=st.lists(st.tuples(WORD, WORD, WORD), max_size=60), cuts=st.lists(st.integers(0, 60), max_size=4))
@settings(deadline=None, max_examples=200)
def test_rows_are_sorted_by_all_columns_and_equal_ones_stay_as_they_were(
    rows: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    ends = sorted({min(cut, len(rows)) for cut in cuts} | {0, len(rows)})
    in_runs = [row for start, stop in pairwise(ends) for row in sorted(rows[start:stop])]
    for given_rows in (rows, in_runs):
        columns = [np.array([row[i] for row in given_rows], np.uint64) for i in range(3)]
        order = order_of(columns)
        assert order.tolist() == np.lexsort(columns[::-1]).tolist()
        in_order = [given_rows[i] for i in order]
        same = [a == b for a, b in pairwise(in_order)]
        assert same_as_before(columns, order).tolist() == same


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_comparable_words_compare_as_values_do(kind: str, descending: bool, data: st.DataObject) -> None:
    arrow_type, strategy = KINDS[kind]
    values = data.draw(st.lists(st.one_of(st.none(), strategy), max_size=20))
    array = pa.array([*values[:1], *values], arrow_type)[len(values[:1]) :]
    words = comparable_words(array, descending=descending)
    found = list(zip(*(word.tolist() for word in words), strict=True))
    rank = dense_rank(array, descending=descending).tolist()
    for i in range(len(values)):
        for j in range(len(values)):
            assert (found[i] < found[j]) == (rank[i] < rank[j])


@pytest.mark.parametrize("width", [1, 8, 9, 17, 32, 33])
def test_sort_keys_of_one_width_become_words(width: int) -> None:
    rng = np.random.default_rng(width)
    keys = [bytes(rng.integers(0, 256, width, dtype=np.uint8)) for _ in range(200)]
    keys += [keys[0], keys[0][:-1] + b"\x00", b"\x00" * width, b"\xff" * width]
    words = comparable_words(pa.array(keys, pa.binary()), descending=False)
    assert len(words) == (1 if width > 32 else -(-width // 8))
    found = list(zip(*(word.tolist() for word in words), strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    assert [keys[i] for i in order] == [keys[i] for i in sorted(order, key=found.__getitem__)]


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)), max_size=40),
    count=st.integers(1, 4),
)
@settings(deadline=None, max_examples=100)
def test_rows_that_enough_others_come_before_are_left_out(
    rows: list[tuple[int, int, int]], count: int
) -> None:
    """Keys are told apart by the second lane too: here those of one upper half are strangers."""
    order = np.array([(key << 32) | image for key, image, _ in rows], np.uint64)
    lane = np.array([lane for _, _, lane in rows], np.uint64)
    kept = first_candidates(order, lane, count).tolist()
    assert len(set(kept)) == len(kept)
    for number, (key, image, second) in enumerate(rows):
        others = [row for row in rows if row[0] == key]
        alone = len({row[2] for row in others}) == 1
        before = sum(row[1] < image for row in others if row[2] == second)
        assert (number in kept) == (not alone or before < count)


@given(
    runs=st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=8), min_size=2, max_size=4
    )
)
@settings(deadline=None, max_examples=100)
def test_runs_whose_rows_share_words_merge_into_one_that_is_in_order(
    runs: list[list[tuple[int, int]]],
) -> None:
    """The words tell nothing here but the key, even across the seam of two runs."""

    def batch(rows: list[tuple[int, int]]) -> Batch:
        word = np.array([key << 32 for key, _ in rows], np.uint64)
        value = np.array([value for _, value in rows], np.int64)
        ones = np.ones(len(rows), np.int64)
        return build_batch(word, word, value.astype(np.uint64), ones, (pa.array(value),), ordered="ascending")

    merged = merge_batches([batch(rows) for rows in runs])
    found = list(zip((merged.order >> np.uint64(32)).tolist(), merged.values[0].to_pylist(), strict=True))
    assert found == sorted({row for rows in runs for row in rows})
    assert merged.weights.sum() == sum(map(len, runs))
