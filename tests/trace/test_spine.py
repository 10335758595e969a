"""Spines: the sum of everything inserted, in logarithmically many batches of geometric sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock.trace.spine as spines
from penstock.storage import BatchRef
from penstock.trace import Batch, Part, Spine, Stored, build_batch, merge_batches
from tests.trace.reference import totals
from tests.trace.samples import Entry, batch_of, entries


def _of(words: np.ndarray[tuple[int], np.dtype[np.uint64]], weight: int = 1) -> Batch:
    return build_batch(words, words, None, np.full(len(words), weight, np.int64))


def _is_geometric(spine: Spine) -> bool:
    sizes = [len(batch) for batch in spine.batches]
    return all(larger >= 2 * smaller for larger, smaller in pairwise(sizes))


@given(parts=st.lists(entries, max_size=12))
@settings(deadline=None, max_examples=30)
def test_a_spine_is_the_sum_of_what_was_inserted(parts: list[list[Entry]]) -> None:
    batches = [batch_of(rows, by_row=True) for rows in parts]
    spine = Spine()
    for batch in batches:
        spine.insert(batch)
        assert _is_geometric(spine)
    assert totals(spine.batches) == totals(batches)
    assert all(len(batch) for batch in spine.batches)


def test_the_number_of_batches_grows_with_the_logarithm_of_the_rows() -> None:
    rng = np.random.default_rng(2)
    spine = Spine()
    merged_rows = 0
    for _ in range(400):
        before = {id(batch) for batch in spine.batches}
        spine.insert(_of(rng.integers(0, 2**63, int(rng.integers(1, 60)), dtype=np.uint64)))
        merged_rows += sum(len(batch) for batch in spine.batches if id(batch) not in before)
        assert _is_geometric(spine)
        assert len(spine.batches) <= math.log2(len(spine)) + 1
    assert merged_rows <= len(spine) * (math.log2(len(spine)) + 1)  # a row is merged O(log n) times


def test_inserting_and_deleting_leaves_nothing() -> None:
    spine = Spine()
    words = np.arange(1, 100, dtype=np.uint64)
    spine.insert(_of(words))
    spine.insert(_of(words, -1))
    assert spine.batches == () and spine.held == () and len(spine) == 0


def test_only_batches_made_since_the_last_commit_have_no_place_on_disk() -> None:
    spine = Spine()
    stored, place = _of(np.arange(1, 101, dtype=np.uint64)), BatchRef("segments/a", 3, 5, 105)
    spine.load(stored, place)
    spine.load(_of(np.empty(0, np.uint64)), BatchRef("segments/a", 4, 0, 0))
    spine.insert(_of(np.arange(200, 210, dtype=np.uint64)))
    assert [held.whole_ref for held in spine.held] == [place, None]
    before = spine.held
    other = BatchRef("segments/b", 0, 0, 10)
    before[1].stored = Stored((Part(other),))
    assert [held.whole_ref for held in spine.held] == [place, other]
    spine.insert(_of(np.arange(300, 400, dtype=np.uint64)))  # merges with both
    # a commit that ends only now says nothing of the result
    before[0].stored = Stored((Part(BatchRef("segments/c", 0, 0, 100)),))
    [merged] = spine.held
    assert merged.refs == (place, other) and [len(batch) for batch in merged.stored.unwritten] == [100]


def test_loaded_batches_stand_largest_first_whatever_the_order_they_come_in() -> None:
    spine = Spine()
    for size in (5, 100, 20, 100, 1):
        spine.load(_of(np.arange(1, size + 1, dtype=np.uint64)), BatchRef("segments/a", size, 0, size))
    assert [len(batch) for batch in spine.batches] == [100, 100, 20, 5, 1]
    assert [held.refs[0].entry for held in spine.held] == [100, 100, 20, 5, 1]
    spine.merge_small()
    [merged] = spine.held
    assert len(merged.batch) == 100 and not merged.stored.unwritten
    assert [ref.entry for ref in merged.refs] == [100, 100, 20, 5, 1]


class Later(Executor):
    """Does what it was asked to do when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked.append((Future(), fn, args))
        return self.asked[-1][0]

    def work(self) -> None:
        future, fn, args = self.asked.pop(0)
        future.set_result(fn(*args))


def test_large_batches_are_merged_in_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spines, "LARGE", 100)
    monkeypatch.setattr(spines, "RARE", 2)
    later = Later()
    spine = Spine(merger=later)
    parts = [_of(np.arange(start, start + 60, dtype=np.uint64)) for start in (0, 30)]
    for part in parts:
        spine.insert(part)
    assert [len(batch) for batch in spine.batches] == [60, 60]  # complete, though not merged yet
    small = [_of(np.arange(start, start + 5, dtype=np.uint64)) for start in (500, 600, 700)]
    spine.insert(small[0])
    spine.insert(small[1])
    assert [len(batch) for batch in spine.batches] == [60, 60, 10]  # small ones do not wait
    later.work()
    spine.insert(small[2])
    assert [len(batch) for batch in spine.batches] == [90, 10, 5]
    assert totals(spine.batches) == totals([*parts, *small])
    assert not later.asked


def test_a_merge_that_every_step_brings_about_is_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spines, "BULK", 10 * spines.LARGE)
    later = Later()
    spine = Spine(merger=later)
    for start in range(4):
        spine.insert(_of(np.arange(start, start + spines.LARGE, dtype=np.uint64)))
    assert not later.asked and len(spine.batches) == 1


def _load(spine: Spine) -> list[Batch]:
    """Seven large batches, each with a step."""
    parts = [_of(np.arange(start, start + spines.BULK, dtype=np.uint64)) for start in range(7)]
    for part in parts:
        spine.insert(part)
        assert spine.continue_merging()
    return parts


def test_a_load_leaves_batches_side_by_side_and_small_steps_have_them_merged_in_passing() -> None:
    later = Later()
    spine = Spine(merger=later)
    parts = _load(spine)
    assert not later.asked and len(spine.batches) == len(parts)
    small = [_of(np.arange(start, start + 5, dtype=np.uint64)) for start in (10**6, 2 * 10**6)]
    spine.insert(small[0])
    assert spine.continue_merging() and len(later.asked) == 1 and len(spine.batches) == len(parts) + 1
    later.work()
    spine.insert(small[1])
    assert [len(batch) for batch in spine.batches] == [spines.BULK + 6, 10]
    assert totals(spine.batches) == totals([*parts, *small])
    assert not spine.continue_merging() and not later.asked


def test_a_load_that_is_over_is_merged_without_another_batch() -> None:
    later = Later()
    spine = Spine(merger=later)
    parts = _load(spine)
    assert spine.continue_merging() and len(later.asked) == 1 and len(spine.batches) == len(parts)
    assert spine.continue_merging() and len(later.asked) == 1  # one merge at a time
    later.work()
    assert not spine.continue_merging() and not later.asked
    assert totals(spine.batches) == totals(parts) and len(spine.batches) == 1


def test_a_spine_that_settles_has_nothing_left_to_merge() -> None:
    with ThreadPoolExecutor(1) as executor:
        spine = Spine(merger=executor)
        parts = _load(spine)
        spine.settle()
    assert totals(spine.batches) == totals(parts) and len(spine.batches) == 1 and not spine.continue_merging()


def test_batches_about_the_same_keys_are_merged_at_once_as_soon_as_that_is_known() -> None:
    later = Later()
    spine = Spine(merger=later)
    for _ in range(spines.BULK_FAN):
        spine.insert(_of(np.arange(spines.BULK, dtype=np.uint64)))
    assert len(later.asked) == 1 and len(spine.batches) == spines.BULK_FAN
    later.work()
    for _ in range(3):
        spine.insert(_of(np.arange(spines.BULK, dtype=np.uint64)))
        assert not later.asked and [len(batch) for batch in spine.batches] == [spines.BULK]


def test_however_long_a_load_is_few_batches_are_left() -> None:
    with ThreadPoolExecutor(1) as executor:
        spine = Spine(merger=executor)
        for start in range(20):
            first = start * spines.BULK
            spine.insert(_of(np.arange(first, first + spines.BULK, dtype=np.uint64)))
            assert len(spine.batches) < 2 * spines.BULK_FAN
        assert sum(map(len, spine.batches)) == 20 * spines.BULK


def test_what_would_be_merged_again_at_once_is_merged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    merges: list[list[int]] = []

    def noted(batches: list[Batch]) -> Batch:
        merges.append([len(batch) for batch in batches])
        return merge_batches(batches)

    monkeypatch.setattr(spines, "merge_batches", noted)
    spine = Spine()
    for start, size in ((0, 40), (100, 20), (200, 10), (300, 10)):
        spine.insert(_of(np.arange(start, start + size, dtype=np.uint64)))
    assert merges == [[40, 20, 10, 10]]


def test_what_cancels_out_in_passing_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spines, "LARGE", 100)
    monkeypatch.setattr(spines, "RARE", 2)
    later = Later()
    spine = Spine(merger=later)
    words = np.arange(60, dtype=np.uint64)
    spine.insert(_of(words))
    spine.insert(_of(words, -1))
    later.work()
    spine.insert(_of(np.arange(900, 903, dtype=np.uint64)))
    assert [len(batch) for batch in spine.batches] == [3]


@given(parts=st.lists(entries, max_size=20))
@settings(deadline=None, max_examples=30)
def test_a_spine_merged_by_another_thread_is_the_sum_too(parts: list[list[Entry]]) -> None:
    batches = [batch_of(rows, by_row=True) for rows in parts]
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as executor:
        patch.setattr(spines, "LARGE", 3)
        patch.setattr(spines, "RARE", 0)
        spine = Spine(merger=executor)
        for number, batch in enumerate(batches, start=1):
            spine.insert(batch)
            assert totals(spine.batches) == totals(batches[:number])
