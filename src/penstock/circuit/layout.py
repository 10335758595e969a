"""The layout: which worker owns which keys.

A key belongs to the shard given by the most significant bits of its hash; the layout assigns every shard to a
worker. Batches are sorted by an order word that starts with the same bits, so a shard is one contiguous slice
of every batch and any number of workers can open any stored state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.circuit.delta import Delta
from penstock.trace import Batch
from penstock.trace.lookup import bounds_of
from penstock.zset import Hashes
from penstock.zset.kernel import INT64S, NEW_INT64S, WORDS, Number, kernel

__all__ = ["Layout"]

SHARD_BITS = 10


@dataclass(frozen=True)
class Layout:
    """``assignment[s]`` is the worker of shard ``s``; the number of shards is a power of two."""

    workers: int
    assignment: tuple[int, ...]

    @staticmethod
    def even(workers: int) -> Layout:
        """Contiguous runs of shards of (nearly) equal length."""
        shards = 1 << SHARD_BITS
        if not 1 <= workers <= shards:
            raise ValueError(f"the number of workers must be between 1 and {shards}, not {workers}")
        return Layout(workers, tuple(shard * workers // shards for shard in range(shards)))

    @property
    def _bits(self) -> int:
        return len(self.assignment).bit_length() - 1

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        return np.asarray(self.assignment, np.int64)

    def workers_of(self, keys: Hashes) -> NDArray[np.int64]:
        """The worker that owns each key."""
        shard = (keys.hi >> np.uint64(64 - self._bits)).astype(np.int64)
        return self._owners[shard]

    def split(self, delta: Delta) -> list[tuple[int, Delta]]:
        """The delta's rows by the worker that owns them; workers without rows are left out."""
        if len(delta) == 0:
            return []
        if self.workers == 1:
            return [(0, delta)]
        perm, edges = np.empty(len(delta), np.int64), np.zeros(self.workers + 1, np.int64)
        # A shift by as many bits as a word has is not defined: a single shard is left to the mask.
        _partition(delta.index.hi, self._owners, min(63, 64 - self._bits), edges, perm)
        return [
            (worker, delta.take(perm[start:stop]))
            for worker, (start, stop) in enumerate(pairwise(edges.tolist()))
            if start < stop
        ]

    @cache  # noqa: B019 - a process knows few layouts, and asks this of every batch it opens
    def ranges(self, worker: int) -> list[tuple[int, int]]:
        """The runs of shards of a worker, as first and last order word (both inclusive)."""
        shift = 64 - self._bits
        runs: list[tuple[int, int]] = []
        for shard, owner in enumerate(self.assignment):
            if owner != worker:
                continue
            first, last = shard << shift, ((shard + 1) << shift) - 1
            if runs and runs[-1][1] + 1 == first:
                runs[-1] = (runs[-1][0], last)
            else:
                runs.append((first, last))
        return runs

    def slices(self, worker: int, batch: Batch) -> list[tuple[int, int]]:
        """The row ranges of a batch that belong to a worker: one per run of shards, empty ones left out."""
        if batch.backing is not None and len(batch):
            first, last = batch.backing.span
            if any(low <= first and last <= high for low, high in self.ranges(worker)):
                return [(0, len(batch))]  # without reading any of it
        ranges = np.array(self.ranges(worker), np.uint64).reshape(-1, 2)
        starts, stops = bounds_of(batch, ranges[:, 0].copy(), ranges[:, 1].copy())
        return [
            (start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True) if start < stop
        ]


@kernel(types.void(WORDS, INT64S, types.int64, NEW_INT64S, NEW_INT64S))
def _partition(
    hi: NDArray[np.uint64],
    owners: NDArray[np.int64],
    shift: Number,
    edges: NDArray[np.int64],
    perm: NDArray[np.int64],
) -> None:
    """Fills ``perm`` with the rows of worker 0, then 1, …, each in order of arrival, and ``edges``, which is
    initially zero, with where each worker's rows begin."""
    mask = np.uint64(len(owners) - 1)
    for i in range(len(hi)):
        edges[owners[(hi[i] >> np.uint64(shift)) & mask] + 1] += 1
    for worker in range(1, len(edges)):
        edges[worker] += edges[worker - 1]
    place = edges.copy()
    for i in range(len(hi)):
        owner = owners[(hi[i] >> np.uint64(shift)) & mask]
        perm[place[owner]] = i
        place[owner] += 1
