"""The changed rows of a step, grouped by how far their changes reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.ordering import Ordering
from penstock.circuit.windows.base import Reach
from penstock.trace import Batch
from penstock.trace.batch import HIGH
from penstock.trace.positions import position_of, running_total, runs_of
from penstock.trace.sort_key import after
from penstock.zset import Hashes, gather, numbers

__all__ = ["Bounds", "Clusters"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Bounds:
    """For each cluster the rows of its partition in a batch, and of those the ones from its first
    changed row (or the first peer of that) up to its last."""

    start: Indices
    stop: Indices
    low: Indices
    high: Indices


class Clusters:
    """Clusters are numbered in the order of their partitions' keys and of their rows.

    ``rows`` are the changed rows by cluster, ``of_row`` the cluster of each row of the batch. ``forth`` is
    how many rows after the last change are altered; in an ``open`` cluster all are. ``whole``: all of the
    partition is read.
    """

    def __init__(self, before: Sequence[Batch], batch: Batch, ordering: Ordering, reach: Reach) -> None:
        self._batch, self._ordering, self._reach = batch, ordering, reach
        high = batch.order & HIGH
        self.rows = np.lexsort((np.arange(len(batch)), batch.key_lo, high))
        high, low = high[self.rows], batch.key_lo[self.rows]
        begins = np.concatenate(([True], (high[1:] != high[:-1]) | (low[1:] != low[:-1])))
        self._partition = np.cumsum(begins) - 1
        keys = Hashes(high[begins], low[begins])
        mixed = np.zeros(len(keys), bool)
        for part in before:
            mixed |= runs_of(part, keys)[2]
        # Without an ORDER BY all rows of a partition are peers.
        whole = mixed | (reach.back is None) | (reach.peers and not ordering.items)
        if reach.forth is not None:
            begins |= self._far_apart(before, keys) & ~whole[self._partition]
        cluster = np.cumsum(begins) - 1
        self.of_row = np.empty(len(batch), np.int64)
        self.of_row[self.rows] = cluster
        self._first = self.rows[begins]
        self._last = self.rows[np.append(np.flatnonzero(begins)[1:], len(self.rows)) - 1]
        partition = self._partition[begins]
        self.keys, self.whole = keys.take(partition), whole[partition]
        self._low, self._high = self._keys(self._first), after(self._keys(self._last))
        self.open = np.full(len(self), reach.forth is None)
        self.forth = np.full(len(self), reach.forth or 0)

    def __len__(self) -> int:
        return len(self._first)

    def close(self, balanced: NDArray[np.bool_]) -> None:
        """Marks the clusters whose changes cancel out in the totals."""
        closed = self.open & balanced
        self.open = self.open & ~closed
        self.forth = np.where(closed, self._reach.closed, self.forth)

    def _far_apart(self, before: Sequence[Batch], keys: Hashes) -> NDArray[np.bool_]:
        """Whether there are so many rows between a changed row and the one before it that they are
        independent."""
        reach = self._reach
        if reach.peers:
            return np.zeros(len(self.rows), bool)
        between = np.zeros(len(self.rows) - 1, np.int64)
        words = self._batch.order[self.rows]
        sort_keys = gather(self._batch.values[0], numbers(self.rows))
        for part in before:
            running = running_total(part, "weights", lambda batch: batch.weights)
            first, past = position_of(part, words, sort_keys), position_of(part, words, after(sort_keys))
            # Only the partition's own rows count, not those of another key in its range.
            start, stop = (bound[self._partition] for bound in runs_of(part, keys)[:2])
            first, past = np.clip(first, start, stop), np.clip(past, start, stop)
            between += running[first[1:]] - running[past[:-1]]
        apart = (reach.back or 0) + (reach.forth or 0) + reach.read_back + reach.read_forth
        return np.concatenate(([True], between > apart))

    def bounds(self, batch: Batch) -> Bounds:
        """Where the clusters lie in a batch of earlier rows."""
        start, stop, _ = runs_of(batch, self.keys)
        low = position_of(batch, self._batch.order[self._first], self._low)
        high = position_of(batch, self._batch.order[self._last], self._high)
        low, high = np.clip(low, start, stop), np.clip(high, start, stop)
        low = np.where(self.whole, start, low)
        return Bounds(start, stop, low, np.where(self.whole | self.open, stop, high))

    def _keys(self, rows: Indices) -> pa.Array:
        """The sort keys of changed rows; the part that peers have in common if these matter."""
        taken = pa.array(rows)
        if not self._reach.peers:
            return gather(self._batch.values[0], taken)
        columns = [gather(column, taken) for column in self._batch.values[1:]]
        return self._ordering.key(columns, len(rows))
