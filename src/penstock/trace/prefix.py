"""The first rows of each key of an ordered arrangement.

The rows that a top-k holds are a prefix of its key's rows in every batch. A round reads a window of each
batch's run, adds up what belongs to the same row, and knows everything before the nearest end of a window;
keys for which that is not enough, because rows cancelled out, go on to a round with larger windows. Cost:
the rows asked for, times the number of batches, however long the runs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.batch import Batch, Words, key_range
from penstock.trace.lookup import bounds_of, expand
from penstock.trace.order import exact_rank
from penstock.zset import Hashes

__all__ = ["Prefix", "lookup_prefix"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Prefix:
    """Rows sorted by ``probe`` (the number of their key), then in order; ``place`` is how many rows of
    the key, counted by weight, come before each. ``values`` are those of the batches."""

    probe: Indices
    place: Indices
    weights: Indices
    values: tuple[pa.Array, ...]


def lookup_prefix(batches: Sequence[Batch], keys: Hashes, count: int) -> Prefix | None:
    """At least the first ``count`` rows (by weight) of each key, or all if there are fewer; None without any.

    Batches are ordered by ``values[0]``."""
    batches = [batch for batch in batches if len(batch)]
    if not batches or len(keys) == 0 or count == 0:
        return None
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
    # A window's last row is itself not decided: the next row of its batch may be the same one of this key.
    closed = _first(read.probe, position, read.closing, len(pending))
    open_ = (closed < len(position)) & (enough >= closed)
    wanted = ~open_[read.probe] & (position <= enough[read.probe]) & (weight > 0)
    values = read.take(np.flatnonzero(wanted))
    return Prefix(pending[read.probe[wanted]], place[wanted], weight[wanted], values), pending[open_]


class _Window:
    """The rows within a window of every batch, equal ones together, sorted by probe and then in order."""

    def __init__(
        self,
        batches: Sequence[Batch],
        bounds: Sequence[tuple[Indices, Indices]],
        keys: Hashes,
        pending: Indices,
        window: int,
    ) -> None:
        probes, words, weights, ends, own, rows = [], [], [], [], [], []
        for batch, (start, stop) in zip(batches, bounds, strict=True):
            size = stop[pending] - start[pending]
            taken = np.minimum(size, window)
            probe, row = expand(start[pending], taken)
            last = np.zeros(len(row), bool)
            last[np.cumsum(taken)[size > window] - 1] = True
            mine = batch.key_lo[row] == keys.lo[pending[probe]]
            probes.append(probe)
            words.append(batch.order[row])
            # A stranger's row counts for nothing, but as the end of a window it marks how far we read.
            weights.append(np.where(mine, batch.weights[row], 0))
            ends.append(last)
            own.append(mine)
            rows.append(pa.array(row))
        self._values = [
            pa.concat_arrays([batch.values[i].take(row) for batch, row in zip(batches, rows, strict=True)])
            for i in range(len(batches[0].values))
        ]
        probe, word = np.concatenate(probes), np.concatenate(words)
        self._group(probe, word, np.concatenate(weights), np.concatenate(ends), np.concatenate(own))

    def _group(
        self,
        probe: Indices,
        word: Words,
        weight: Indices,
        ends: NDArray[np.bool_],
        own: NDArray[np.bool_],
    ) -> None:
        rank = exact_rank(self._values[0], descending=False)
        perm = np.lexsort((~own, rank, word, probe))
        probe, rank, word = probe[perm], rank[perm], word[perm]
        differs = (probe[1:] != probe[:-1]) | (rank[1:] != rank[:-1]) | (word[1:] != word[:-1])
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(probe)), bool), differs)))
        self.probe = probe[starts]
        self.weights = np.add.reduceat(weight[perm], starts) if len(starts) else weight
        self.closing = np.logical_or.reduceat(ends[perm], starts) if len(starts) else ends
        self._representative = perm[starts]

    def take(self, positions: Indices) -> tuple[pa.Array, ...]:
        """The values at positions among the grouped rows."""
        rows = pa.array(self._representative[positions])
        return tuple(column.take(rows) for column in self._values)


def _first(owner: Indices, position: Indices, flag: NDArray[np.bool_], owners: int) -> Indices:
    """For each owner the first position whose flag is set, or ``len(position)`` if there is none."""
    first = np.full(owners, len(position), np.int64)
    found = position[flag][::-1]
    first[owner[found]] = found  # of several the last one assigned stays, which is the smallest
    return first


def _sorted(parts: Sequence[Prefix]) -> Prefix:
    if len(parts) == 1:
        return parts[0]
    probe = np.concatenate([part.probe for part in parts])
    perm = np.argsort(probe, kind="stable")
    rows = pa.array(perm)
    return Prefix(
        probe[perm],
        np.concatenate([part.place for part in parts])[perm],
        np.concatenate([part.weights for part in parts])[perm],
        tuple(
            pa.concat_arrays(chunks).take(rows)
            for chunks in zip(*(part.values for part in parts), strict=True)
        ),
    )
