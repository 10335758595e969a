"""Reading the stretches of partitions that a step's changes reach.

A *cluster* is a group of changed rows of one partition whose reaches overlap. From each batch these rows are
read: those between the first and the last of them, the peers of both if they matter, and as many rows beyond
as the functions' reach and their frames require; or the whole partition if a function needs that, or if
another partition's rows are mixed in (once in four billion pairs), so that positions cannot be counted by
running totals.

Rows beyond are read in windows, as in :mod:`penstock.trace.prefix`: what was read in all batches is known,
and a cluster for which that is too little is read again with larger windows. Nothing changed there, so the
rows beyond are the same before and after the step. Cost: the rows read, and a search in every batch for each
cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators import Total
from penstock.circuit.windows.base import Reach
from penstock.circuit.windows.clusters import Bounds, Clusters
from penstock.circuit.windows.run import Run
from penstock.circuit.windows.totals import sums_before
from penstock.trace import Batch
from penstock.trace.comparable_words import comparable_words
from penstock.trace.positions import running_total
from penstock.trace.search import expand
from penstock.trace.sorting import order_of, same_as_before
from penstock.zset import concat, gather, numbers

__all__ = ["Stretches", "read_stretches"]

Indices = NDArray[np.int64]
_SPARE = 8


@dataclass(frozen=True)
class Stretches:
    """Rows in order, with their weights before and after the step; ``altered``: their result may have
    changed. ``values`` are those of the batches, the sort key first."""

    stretch: Indices
    old: Indices
    new: Indices
    altered: NDArray[np.bool_]
    values: tuple[pa.Array, ...]
    before: Indices
    sums_before: dict[Total, dict[str, Indices]]

    def run(self, weights: Indices, peer: Indices) -> Run:
        """The rows repeated by ``weights``."""
        row = np.repeat(np.arange(len(weights)), np.maximum(weights, 0))
        taken = pa.array(row)
        columns = tuple(gather(column, taken) for column in self.values[1:])
        altered = self.altered[row]
        return Run(columns, self.stretch[row], peer[row], altered, self.before, self.sums_before)


def read_stretches(
    before: Sequence[Batch], batch: Batch, clusters: Clusters, reach: Reach, totals: Sequence[Total]
) -> Stretches:
    """The stretches of all clusters of the changed rows ``batch``."""
    before = [part for part in before if len(part)]
    back = np.full(len(clusters), (reach.back or 0) + reach.read_back)
    forth = clusters.forth + reach.read_forth
    bounds = [clusters.bounds(part) for part in before]
    window = _SPARE
    while True:
        read = _Read(
            before, bounds, batch, clusters, back + window * (back > 0), forth + window * (forth > 0)
        )
        if read.kept(back, forth):
            break
        window *= 8
    altered = read.altered(np.full(len(clusters), reach.back or 0), clusters.forth)
    rows_before = np.zeros(len(clusters), np.int64)
    starts = [read.first_kept(number) for number in range(len(before))]
    for part, at, bound in zip(before, starts, bounds, strict=True):
        running = running_total(part, "weights", lambda batch: batch.weights)
        rows_before += np.where(clusters.whole, 0, running[at] - running[bound.start])
    sums = sums_before(before, starts, bounds, clusters.whole, totals)
    return read.stretches(altered, rows_before, sums)


class _Read:
    """The rows of every cluster from every batch, consolidated, in order. ``side`` is -1 for rows before the
    changed ones (and their peers), 1 for those after, 0 in between."""

    def __init__(
        self,
        before: Sequence[Batch],
        bounds: Sequence[Bounds],
        batch: Batch,
        clusters: Clusters,
        back: Indices,
        forth: Indices,
    ) -> None:
        self._clusters, self._bounds = clusters, bounds
        parts: list[tuple[Batch, Indices, Indices]] = []
        sides, ends = [], []
        for part, bound in zip(before, bounds, strict=True):
            start = np.maximum(bound.start, bound.low - back)
            stop = np.minimum(bound.stop, bound.high + forth)
            cluster, row = expand(start, stop - start)
            part.need_rows(row)
            own = part.key_lo[row] == clusters.keys.lo[cluster]
            side = (row >= bound.high[cluster]).astype(np.int64) - (row < bound.low[cluster])
            # 1: this batch has more rows before this one; 2: after it.
            end = ((side < 0) & (row == start[cluster]) & (start > bound.start)[cluster]).astype(np.int64)
            end += 2 * ((side > 0) & (row == stop[cluster] - 1) & (stop < bound.stop)[cluster])
            parts.append((part, cluster[own], row[own]))
            sides.append(side[own])
            ends.append(end[own])
        parts.append((batch, clusters.of_row[clusters.rows], clusters.rows))
        sides.append(np.zeros(len(clusters.rows), np.int64))
        ends.append(np.zeros(len(clusters.rows), np.int64))
        self._collect(parts, np.concatenate(sides), np.concatenate(ends))

    def _collect(self, parts: Sequence[tuple[Batch, Indices, Indices]], side: Indices, end: Indices) -> None:
        cluster = np.concatenate([cluster for _, cluster, _ in parts])
        word = np.concatenate([part.order[row] for part, _, row in parts])
        new = np.concatenate([part.weights[row] for part, _, row in parts])
        source = np.concatenate([np.full(len(row), i) for i, (_, _, row) in enumerate(parts)])
        values = [
            concat([gather(part.values[i], numbers(row)) for part, _, row in parts])
            for i in range(len(parts[0][0].values))
        ]
        old = np.where(source == len(parts) - 1, 0, new)
        by = (cluster, word, *comparable_words(values[0], descending=False))
        perm = order_of(by)
        differs = ~same_as_before(by, perm)
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(perm)), bool), differs)))
        self._first, self._values = perm[starts], values
        self.cluster, self.side = cluster[self._first], side[self._first]
        self.old = np.maximum(np.add.reduceat(old[perm], starts), 0)
        self.new = np.maximum(np.add.reduceat(new[perm], starts), 0)
        self._end = np.bitwise_or.reduceat(end[perm], starts)
        # Where each entry that was read went, to count afterwards how many of a batch are kept.
        self._source, self._side = source[perm], side[perm]
        self._position = np.cumsum(np.concatenate((np.ones(min(1, len(perm)), np.int64), differs))) - 1
        self.keep = np.ones(len(starts), bool)

    def kept(self, back: Indices, forth: Indices) -> bool:
        """Selects the needed rows beyond the changed ones; False if too few are known."""
        size = len(self._clusters)
        position = np.arange(len(self.cluster))
        first, last = np.full(size, -1), np.full(size, len(position))
        cut = self._end & 1 > 0
        np.maximum.at(first, self.cluster[cut], position[cut])
        cut = self._end & 2 > 0
        np.minimum.at(last, self.cluster[cut], position[cut])
        known = (position >= first[self.cluster]) & (position <= last[self.cluster])
        nearer = self._distance()
        wanted = np.where(self.side < 0, back[self.cluster], forth[self.cluster])
        self.keep = known & ((self.side == 0) | (nearer < wanted))
        enough = True
        for side, limit, cuts in ((-1, back, first >= 0), (1, forth, last < len(position))):
            there = known & (self.side == side)
            total = np.bincount(self.cluster[there], self.old[there], size)
            enough &= bool((~cuts | (total >= limit)).all())
        return enough

    def _distance(self) -> Indices:
        """For rows beyond the changed ones, how many rows are between."""
        left = np.where(self.side < 0, self.old, 0)
        right = np.where(self.side > 0, self.old, 0)
        left_end = np.cumsum(left)
        left_total = np.bincount(self.cluster, left, len(self._clusters)).astype(np.int64)
        base = np.cumsum(left_total)[self.cluster]
        right_start = np.cumsum(right) - right
        right_total = np.bincount(self.cluster, right, len(self._clusters)).astype(np.int64)
        right_base = (np.cumsum(right_total) - right_total)[self.cluster]
        distance: Indices = np.where(self.side < 0, base - left_end, right_start - right_base)
        return distance

    def altered(self, back: Indices, forth: Indices) -> NDArray[np.bool_]:
        """Those of the kept rows whose results may have changed."""
        wanted = np.where(self.side < 0, back[self.cluster], forth[self.cluster])
        altered: NDArray[np.bool_] = self.keep & ((self.side == 0) | (self._distance() < wanted))
        return altered

    def first_kept(self, number: int) -> Indices:
        """For each cluster the position in batch ``number`` where its kept rows begin."""
        mine = (self._source == number) & (self._side < 0) & self.keep[self._position]
        kept = np.bincount(self.cluster[self._position[mine]], minlength=len(self._clusters))
        return self._bounds[number].low - kept

    def stretches(
        self, altered: NDArray[np.bool_], before: Indices, sums: dict[Total, dict[str, Indices]]
    ) -> Stretches:
        """What was kept."""
        rows = pa.array(self._first[self.keep])
        values = tuple(gather(column, rows) for column in self._values)
        keep = self.keep
        return Stretches(
            self.cluster[keep], self.old[keep], self.new[keep], altered[keep], values, before, sums
        )
