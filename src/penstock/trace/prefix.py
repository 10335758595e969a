"""The first rows of each key of an ordered arrangement.

The rows that a top-k holds are a prefix of its key's rows in every batch. A round reads a window of each
batch's run, sums equal rows, and knows everything before the nearest end of a window; keys for which that is
not enough, because rows cancelled out, get another round with larger windows. Cost: the rows asked for, times
the number of batches, however long the runs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.batch import Batch, Words, build_batch, key_range
from penstock.trace.comparable_words import comparable_words
from penstock.trace.lookup import bounds_of
from penstock.trace.search import expand
from penstock.trace.sorting import same_as_before
from penstock.trace.ties import tie_order
from penstock.zset import Hashes, concat, gather, numbers

__all__ = ["Prefix", "gather_batch", "gather_rows", "lookup_prefix"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Prefix:
    """Rows sorted by ``probe`` (the number of their key), then in order; ``place`` is the number of rows of
    the key before each, counted by weight. Row ``row`` of batch ``batch`` is one of those that make it up:
    values are not gathered, because few may be needed (:func:`gather_rows`)."""

    probe: Indices
    place: Indices
    weights: Indices
    batch: Indices
    row: Indices


def lookup_prefix(batches: Sequence[Batch], keys: Hashes, count: int) -> Prefix:
    """At least the first ``count`` rows (by weight) of each key, or all if there are fewer.

    Batches are ordered by ``values[0]``, ties by the other values."""
    assert all(batch.times is None for batch in batches)
    if not any(map(len, batches)) or len(keys) == 0 or count == 0:
        none = np.empty(0, np.int64)
        return Prefix(none, none, none, none, none)
    low, high = key_range(keys)
    bounds = [bounds_of(batch, low, high) for batch in batches]
    pending = np.arange(len(keys))
    parts: list[Prefix] = []
    window = count + 4
    while len(pending):
        part, pending = _round(batches, bounds, keys, pending, window, count)
        parts.append(part)
        window *= 4
    return _sorted(parts)


def gather_rows(
    batches: Sequence[Batch], batch: Indices, row: Indices, first: int, last: int | None = None
) -> tuple[pa.Array, ...]:
    """The values, from number ``first`` up to ``last``, of one or more rows of several batches."""
    used = [number for number in range(len(batches)) if np.any(batch == number)]
    if len(used) == 1:
        rows = numbers(row)
        return tuple(gather(column, rows) for column in batches[used[0]].values[first:last])
    places = [np.flatnonzero(batch == number) for number in used]
    chosen = [numbers(row[place]) for place in places]
    back = np.empty(len(row), np.int64)
    back[np.concatenate(places)] = np.arange(len(row))
    order = numbers(back)
    return tuple(
        gather(concat(parts), order)
        for parts in zip(
            *(
                [gather(column, rows) for column in batches[number].values[first:last]]
                for number, rows in zip(used, chosen, strict=True)
            ),
            strict=True,
        )
    )


def gather_batch(
    batches: Sequence[Batch],
    batch: Indices,
    row: Indices,
    weights: Indices,
    values: Sequence[pa.Array] | None = None,
) -> Batch:
    """Those rows, with these weights, as a batch of the same arrangement; pass ``values`` if they are
    known."""
    first = batches[0]
    if len(row) == 0:
        return first.slice(0, 0)
    order, key_lo, row_lo = (np.empty(len(row), np.uint64) for _ in range(3))
    for number, part in enumerate(batches):
        here = batch == number
        assert part.row_lo is not None
        order[here], key_lo[here] = part.order[row[here]], part.key_lo[row[here]]
        row_lo[here] = part.row_lo[row[here]]
    values = gather_rows(batches, batch, row, 0) if values is None else values
    return build_batch(order, key_lo, row_lo, weights, values, ordered=first.ordered)


def _round(
    batches: Sequence[Batch],
    bounds: Sequence[tuple[Indices, Indices]],
    keys: Hashes,
    pending: Indices,
    window: int,
    count: int,
) -> tuple[Prefix, Indices]:
    """The rows of the keys that a window of this size decides, and the keys it does not."""
    read = _Window(batches, bounds, keys, pending, window)
    weight = np.maximum(read.weights, 0)
    total = np.cumsum(weight)
    first_row = np.searchsorted(read.probe, np.arange(len(pending)))
    base = np.concatenate(([0], total))[first_row]
    place = total - weight - base[read.probe]
    position = np.arange(len(read.probe))
    enough = _first(read.probe, position, place + weight >= count, len(pending))
    # The last row of a window is not decided: the next row of its batch may be equal to it.
    closed = _first(read.probe, position, read.closing, len(pending))
    open_ = (closed < len(position)) & (enough >= closed)
    wanted = ~open_[read.probe] & (position <= enough[read.probe]) & (weight > 0)
    found = Prefix(
        pending[read.probe[wanted]],
        place[wanted],
        weight[wanted],
        read.batch[wanted],
        read.row[wanted],
    )
    return found, pending[open_]


class _Window:
    """The rows within a window of every batch, consolidated, sorted by probe and then in order."""

    def __init__(
        self,
        batches: Sequence[Batch],
        bounds: Sequence[tuple[Indices, Indices]],
        keys: Hashes,
        pending: Indices,
        window: int,
    ) -> None:
        probes, words, weights, ends, own, rows, owners = [], [], [], [], [], [], []
        for number, (batch, (start, stop)) in enumerate(zip(batches, bounds, strict=True)):
            size = stop[pending] - start[pending]
            taken = np.minimum(size, window)
            probe, row = expand(start[pending], taken)
            batch.need_rows(row)
            last = np.zeros(len(row), bool)
            last[np.cumsum(taken)[size > window] - 1] = True
            mine = batch.key_lo[row] == keys.lo[pending[probe]]
            probes.append(probe)
            words.append(batch.order[row])
            # A row of another key has no weight here, but as the end of a window it marks how far was read.
            weights.append(np.where(mine, batch.weights[row], 0))
            ends.append(last)
            own.append(mine)
            rows.append(row)
            owners.append(np.full(len(row), number))
        self._batches = batches
        self.batch, self.row = np.concatenate(owners), np.concatenate(rows)
        self.probe, self.weights = np.concatenate(probes), np.concatenate(weights)
        self.closing = np.concatenate(ends)
        self._group(np.concatenate(words), np.concatenate(own))

    def _group(self, word: Words, own: NDArray[np.bool_]) -> None:
        """Sorts the rows and sums equal ones. A row of another key is never equal to one of this key."""
        second = self._second_lane()
        by: list[NDArray[Any]] = [self.probe, word]
        if len(self.row):
            (key,) = gather_rows(self._batches, self.batch, self.row, 0, 1)
            by += comparable_words(key, descending=False)
        by.append(own)
        perm = tie_order(
            by, second, lambda some: gather_rows(self._batches, self.batch[some], self.row[some], 1)
        )
        differs = ~same_as_before((*by, second), perm)
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(perm)), bool), differs)))
        self.weights = np.add.reduceat(self.weights[perm], starts) if len(starts) else self.weights
        self.closing = np.logical_or.reduceat(self.closing[perm], starts) if len(starts) else self.closing
        chosen = perm[starts]
        self.probe, self.batch, self.row = self.probe[chosen], self.batch[chosen], self.row[chosen]

    def _second_lane(self) -> Words:
        lanes = np.empty(len(self.row), np.uint64)
        for number, batch in enumerate(self._batches):
            here = self.batch == number
            assert batch.row_lo is not None
            lanes[here] = batch.row_lo[self.row[here]]
        return lanes


def _first(owner: Indices, position: Indices, flag: NDArray[np.bool_], owners: int) -> Indices:
    """For each owner the first position whose flag is set, or ``len(position)`` if there is none."""
    first = np.full(owners, len(position), np.int64)
    found = position[flag][::-1]
    first[owner[found]] = found  # if several are assigned the last one wins, which is the smallest
    return first


def _sorted(parts: Sequence[Prefix]) -> Prefix:
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*(astuple(part) for part in parts), strict=True)]
    perm = np.argsort(columns[0], kind="stable")
    return Prefix(*(column[perm] for column in columns))
