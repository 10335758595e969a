"""The index of the current sessions of each key, and which of them a change touches.

A session is stored by its start, which identifies it under its key, with its end as an additive number:
extending a session adds one entry with the difference, and retracts nothing. The sessions of a key do not
touch each other, so those that a stretch of time touches are the ones that start in it and the last one
before it. That one is searched for backwards, a few entries of each batch at a time: a key with a thousand
sessions costs as much as a key with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.circuit.sessions.intervals import Intervals, moment_words
from penstock.circuit.sessions.words import time_words
from penstock.trace import Batch, build_batch
from penstock.trace.batch import key_range
from penstock.trace.lookup import bounds_of
from penstock.trace.search import expand
from penstock.trace.sorting import order_of, same_as_before
from penstock.zset import Hashes
from penstock.zset.kernel import INT64S, NEW_INT64S, NEW_WORDS, WORDS, kernel

__all__ = ["SessionBook"]

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

_END = "end"
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class SessionBook:
    """The sessions as they were before a step."""

    batches: Sequence[Batch]

    def touched(self, keys: Hashes, stretches: Intervals) -> Intervals:
        """The sessions that touch the given stretches, each of a key; their owners are the numbers of the
        stretches. A session that touches two stretches is returned twice."""
        batches = [batch for batch in self.batches if len(batch)]
        none = np.empty(0, np.int64)
        found = [Intervals(none, none, none)]
        pending = np.arange(len(stretches))
        window = 1
        while batches and len(pending):
            some, sessions, open_ = _round(batches, keys.take(pending), stretches.take(pending), window)
            found.append(Intervals(pending[some], sessions.start, sessions.end))
            pending = pending[open_]
            window *= 8
        if len(found) <= 2:
            return found[-1]
        every = Intervals.concat(found)
        return every.take(order_of((every.owner, moment_words(every.start))))


def change_of(keys: Hashes, old: Intervals, new: Intervals) -> Batch:
    """The change of the index when the sessions ``old`` are replaced by ``new``; owners number ``keys``."""
    owner, start = np.concatenate((old.owner, new.owner)), np.concatenate((old.start, new.start))
    theirs = keys.take(owner)
    sign = np.repeat(np.array([-1, 1]), (len(old), len(new)))
    ends = np.concatenate((old.end, new.end)) * sign
    return build_batch(time_words(theirs, start), theirs.lo, moment_words(start), sign, sums={_END: ends})


def _round(
    batches: Sequence[Batch], keys: Hashes, stretches: Intervals, window: int
) -> tuple[Indices, Intervals, Indices]:
    """Reads at least ``window`` entries before each stretch in every batch. Returns which stretches touch
    which sessions, and the stretches that are still undecided."""
    first, last = time_words(keys, stretches.start), time_words(keys, stretches.end)
    size = len(stretches)
    complete = np.zeros(size, np.uint64)  # from this word on, all entries were read
    parts = []
    for batch in batches:
        low, stop = bounds_of(batch, first, last)
        run, _ = bounds_of(batch, *key_range(keys), to_read=True)
        _go_back(batch.order, run, window, low, complete)
        probe, row = expand(low, stop - low)
        batch.need_rows(row)
        own = batch.key_lo[row] == keys.lo[probe]
        probe, row = probe[own], row[own]
        assert batch.row_lo is not None
        ends = batch.sums[_END][row] if _END in batch.sums else np.zeros(len(row), np.int64)
        parts.append((probe, batch.row_lo[row], batch.order[row], batch.weights[row], ends))
    probe, start_word, word, weight, end = (np.concatenate(c) for c in zip(*parts, strict=True))
    perm = order_of((probe, start_word))
    fresh = ~same_as_before((probe, start_word), perm)
    starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(perm)), bool), fresh)))
    at = perm[starts]
    there = (np.add.reduceat(weight[perm], starts) if len(perm) else weight) > 0
    there &= word[at] >= complete[probe[at]]
    end = (np.add.reduceat(end[perm], starts) if len(perm) else end)[there]
    at = at[there]
    probe, start = probe[at], (start_word[at] ^ _SIGN).view(np.int64)
    decided = complete == 0
    decided[probe[start <= stretches.start[probe]]] = True
    touching = decided[probe] & (start <= stretches.end[probe]) & (end >= stretches.start[probe])
    some = probe[touching]
    return some, Intervals(some, start[touching], end[touching]), np.flatnonzero(~decided)


@kernel(types.void(WORDS, INT64S, types.int64, NEW_INT64S, NEW_WORDS))
def _go_back(order: Words, run: Indices, window: int, low: Indices, complete: Words) -> None:
    """Moves each ``low`` back by ``window`` entries and by those that share their word, not beyond the key's
    ``run``; where entries are left before it, raises ``complete`` to the first word that was read."""
    for probe in range(len(low)):
        at = max(run[probe], low[probe] - window)
        while at > run[probe] and order[at - 1] == order[at]:
            at -= 1
        if at > run[probe] and order[at] > complete[probe]:
            complete[probe] = order[at]
        low[probe] = at
