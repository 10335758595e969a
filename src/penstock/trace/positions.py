"""The position of a row among the rows of its key, without reading them.

A batch is immutable, so the running total of its weights is computed once and cached with it; the number of
rows of a key before a position is then a difference of two numbers in each batch. The same holds for every
other additive column. Positions are found by binary search: among the order words, then among the sort keys
of rows that share a word. Cost: O(probes · log rows) per batch, and one pass over a batch on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.trace.batch import HIGH, Batch, Words, key_range
from penstock.trace.lookup import bounds_of
from penstock.zset import Hashes, gather, numbers

__all__ = ["position_of", "running_total", "runs_of"]

Indices = NDArray[np.int64]


def running_total(batch: Batch, name: Hashable, column: Callable[[Batch], Indices]) -> Indices:
    """The sum of the entries before each row, and of all; ``column`` is called once for each batch and
    name."""
    if name not in batch.memo:
        batch.memo[name] = np.concatenate(([0], np.cumsum(column(batch.whole()))))
    total: Indices = batch.memo[name]
    return total


def runs_of(batch: Batch, keys: Hashes) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """First and one-past-last row of each key, and which keys share these rows with other keys."""
    start, stop = bounds_of(batch, *key_range(keys))
    if len(batch) == 0:
        return start, stop, np.zeros(len(keys), bool)
    mixed = running_total(batch, "mixed", _changes_of_key)
    last = np.maximum(stop - 1, start)
    several = (stop > start) & (
        mixed[np.minimum(last, len(batch) - 1)] != mixed[np.minimum(start, len(batch) - 1)]
    )
    batch.need_rows(np.minimum(start, len(batch) - 1))
    foreign = (stop > start) & (batch.key_lo[np.minimum(start, len(batch) - 1)] != keys.lo)
    # A run that belongs entirely to another key is not a run of this one.
    return start, np.where(foreign & ~several, start, stop), several


def _changes_of_key(batch: Batch) -> Indices:
    """1 where the next row has the same half of the hash, by which batches are sorted, but another key."""
    same = (batch.order[1:] & HIGH) == (batch.order[:-1] & HIGH)
    return np.concatenate((same & (batch.key_lo[1:] != batch.key_lo[:-1]), [False])).astype(np.int64)


def position_of(batch: Batch, words: Words, keys: pa.Array) -> Indices:
    """The first row of an ordered batch whose word and sort key are not below the given ones."""
    low, high = bounds_of(batch, words, words)
    column = batch.values[0]
    while (open_ := low < high).any():
        middle = (low + high) // 2
        at = np.where(open_, middle, 0)
        batch.need_rows(at)
        below = pc.less(gather(column, numbers(at)), keys).to_numpy(zero_copy_only=False)
        low = np.where(open_ & below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return low
