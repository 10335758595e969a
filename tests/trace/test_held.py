"""Merged batches that are stored as the batches that they were merged from."""

from __future__ import annotations

import numpy as np
import pytest

import penstock.trace.held as module
from penstock.storage import BatchRef
from penstock.trace import Batch, Held, Part, Spine, Stored, build_batch, merge_batches
from penstock.trace.held import stored_as_parts
from tests.trace.reference import totals


def of(start: int, stop: int, weight: int = 1) -> Batch:
    words = np.arange(start, stop, dtype=np.uint64)
    return build_batch(words, words, None, np.full(len(words), weight, np.int64))


def stored(batch: Batch, entry: int) -> Held:
    return Held(batch, Stored((Part(BatchRef("segments/a", entry, 0, len(batch)), 7),)))


def fresh(batch: Batch) -> Held:
    return Held(batch, Stored(unwritten=(batch,)))


def merged(*inputs: Held) -> Stored:
    return stored_as_parts(inputs, merge_batches([held.batch for held in inputs]))


def test_a_merged_batch_is_stored_as_what_it_was_merged_from() -> None:
    new = fresh(of(20, 25))
    found = merged(stored(of(0, 10), 1), stored(of(10, 20), 2), new)
    assert [part.ref.entry for part in found.parts] == [1, 2] and found.unwritten == (new.batch,)


def test_it_is_written_as_a_whole_if_nothing_of_it_is_stored() -> None:
    found = merged(fresh(of(0, 10)), fresh(of(10, 20)))
    assert not found.parts and [len(batch) for batch in found.unwritten] == [20]


def test_it_is_written_as_a_whole_if_it_has_too_many_parts() -> None:
    parts = [stored(of(10 * i, 10 * i + 10), i) for i in range(module.MOST_PARTS)]
    assert len(merged(*parts).parts) == module.MOST_PARTS
    assert not merged(*parts, fresh(of(5000, 5001))).parts


def test_it_is_written_as_a_whole_if_two_parts_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE_PART", 50)
    assert len(merged(stored(of(0, 50), 1), stored(of(50, 99), 2)).parts) == 2
    assert not merged(stored(of(0, 50), 1), stored(of(50, 100), 2)).parts


def test_it_is_written_as_a_whole_if_most_rows_cancelled_out() -> None:
    found = merged(stored(of(0, 100), 1), stored(of(10, 100, -1), 2))
    assert not found.parts and [len(batch) for batch in found.unwritten] == [10]


def test_much_that_is_unwritten_is_not_kept_beside_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MUCH_UNWRITTEN", 50)
    assert merged(stored(of(0, 100), 1), fresh(of(100, 150))).parts
    assert not merged(stored(of(0, 10), 1), fresh(of(100, 151))).parts


@pytest.mark.parametrize("most", [2, 4, 32])
def test_commits_write_a_row_a_few_times_however_often_it_is_merged(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of parts and unwritten rows is the batch at all times, as a reopened pipeline finds it."""
    monkeypatch.setattr(module, "MOST_PARTS", most)
    spine, segments, written = Spine(), dict[int, Batch](), 0
    steps, rows = 200, 10
    for step in range(steps):
        spine.insert(of(rows * step, rows * step + rows))
        for held in spine.held:  # what a commit does
            if held.stored.unwritten:
                segments[len(segments)] = batch = merge_batches(held.stored.unwritten)
                part = Part(BatchRef("segments/a", len(segments) - 1, 0, len(batch)))
                held.stored = Stored((*held.stored.parts, part))
                written += len(batch)
        named = [segments[ref.entry] for held in spine.held for ref in held.refs]
        assert totals(named) == totals(spine.batches)
    assert written / (steps * rows) <= 2 + np.log(steps) / np.log(most)
