"""Keys are counted and sampled exactly, also where rows of different keys are mixed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.trace import Batch, Kind, build_batch, key_count, sample_keys, sum_of
from tests.trace.layers import Files, many, unsorted


def uneven(keys: int, rows_of_first: int) -> Batch:
    """Keys with one row each, except that the first has many."""
    high = np.concatenate((np.zeros(rows_of_first, np.uint64), np.arange(1, keys, dtype=np.uint64)))
    low = np.arange(len(high), dtype=np.uint64)
    return build_batch(high << np.uint64(32) | low, high, low, np.ones(len(high), np.int64))


def test_a_key_is_as_likely_as_another_however_many_rows_it_has() -> None:
    batch, rng, found = uneven(20, 300), np.random.default_rng(3), np.zeros(20, np.int64)
    for _ in range(1000):
        found[sample_keys(batch, 5, rng).lo.astype(np.int64)] += 1
    assert found.sum() == 5000
    assert found.min() > 190 and found.max() < 310  # 250 each, standard deviation 14


def test_keys_whose_rows_are_mixed_are_as_likely_as_others() -> None:
    words = np.arange(9, dtype=np.uint64)
    lanes = np.array([1, 2, 1, 3, 2, 1, 1, 3, 1], np.uint64)
    batch = build_batch(words, lanes, words, np.ones(9, np.int64))
    assert key_count(batch) == 3
    rng, found = np.random.default_rng(4), np.zeros(4, np.int64)
    for _ in range(600):
        found[sample_keys(batch, 1, rng).lo.astype(np.int64)] += 1
    assert found[1:].min() > 150


def test_samples_of_no_keys_and_of_all() -> None:
    batch, rng = uneven(20, 300), np.random.default_rng(3)
    assert len(sample_keys(batch, 0, rng)) == 0
    assert sample_keys(batch, 99, rng).lo.tolist() == list(range(20))
    none = batch.slice(0, 0)
    assert key_count(none) == len(sample_keys(none, 5, rng)) == 0


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_on_file_only_words_are_read(kind: Kind, compressed: bool, tmp_path: Path) -> None:
    files = Files(tmp_path, compressed=compressed)
    batch = sum_of([unsorted(kind, many(2, 1500))])
    stored = files.stored(batch)
    assert stored.backing is not None
    state = stored.backing.columns.state
    keys = sample_keys(stored, 2, np.random.default_rng(1))
    assert len(keys) == 2
    assert 0 < np.count_nonzero(state[0]) < state.shape[1] // 2, "some blocks"
    assert key_count(stored) == key_count(batch)
    assert not state[1].any(), "no values, weights or times"
