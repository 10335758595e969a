"""Tuples are sorted in chunks. That the result is right is tested in test_layers.py."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.trace import Batch, TupleBuilder


def test_tuples_that_cancel_out_take_no_memory() -> None:
    words = np.arange(500, dtype=np.uint64)
    some = Batch(words, words, None, np.ones(500, np.int64))
    backwards = words[::-1].copy()
    gone = Batch(backwards, backwards, None, -np.ones(500, np.int64))
    builder = TupleBuilder(some, rows=100)
    for _ in range(50):
        builder.push(some)
        builder.push(gone)
        assert sum(map(len, builder._sorted)) <= 1000
    assert len(builder.done()) == 0


def test_chunks_of_tuples_are_few() -> None:
    rng = np.random.default_rng(2)
    parts = [rng.integers(0, 2**64, 64, np.uint64) for _ in range(300)]
    builder = TupleBuilder(Batch(parts[0], parts[0], None, np.ones(64, np.int64)), rows=64)
    for words in parts:
        builder.push(Batch(words, words, None, np.ones(64, np.int64)))
        assert len(builder._sorted) <= 10
    assert np.array_equal(builder.done().order, np.sort(np.concatenate(parts)))


def test_tuples_of_another_kind_are_refused() -> None:
    words = np.arange(3, dtype=np.uint64)
    builder = TupleBuilder(Batch(words, words, None, np.ones(3, np.int64)))
    with pytest.raises(ValueError, match="rows of an OrdIndexedZSet with 0 values do not belong"):
        builder.push(Batch(words, words, words, np.ones(3, np.int64)))
    with pytest.raises(ValueError, match="rows of an OrdZSet with 1 values do not belong"):
        builder.push(Batch(words, words, None, np.ones(3, np.int64), (pa.array([1, 2, 3]),)))
