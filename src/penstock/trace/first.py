"""The first existing value of each key: what ``min`` and ``max`` read of a group.

Batches are ordered by value within a key, so the answer is at the head of some batch, unless rows there
cancel against rows of other batches. All batches are read in parallel: each round takes, for every undecided
key, the smallest order word at any batch's cursor, and sums the weights of the rows that have it. That
decides a key if these rows all have the same value, which they do unless two values share the word's 32 bits;
only such keys are examined again, by value.

Cost: a few compiled passes over the keys for each batch; one more round for each value that cancelled out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.trace.batch import Batch, Words, key_range
from penstock.trace.lookup import Indices, bounds_of
from penstock.trace.order import dense_rank
from penstock.trace.search import expand
from penstock.zset import Hashes, concat, gather, numbers
from penstock.zset.kernel import INT64S, NEW_INT64S, NEW_WORDS, WORDS, kernel

__all__ = ["lookup_first"]

_LAST = np.uint64(2**64 - 1)
_NOBODY = np.int64(-1)
_TIED = np.int64(-2)


def lookup_first(batches: Sequence[Batch], keys: Hashes) -> tuple[Indices, pa.Array | None]:
    """For each key the first value, in the batches' order, whose total weight is positive.

    Returns the probes that have one and their values (None if no batch has any row).
    """
    assert all(batch.times is None for batch in batches)
    batches = [batch for batch in batches if len(batch)]
    if not batches or len(keys) == 0:
        return np.empty(0, np.int64), None
    owner, row = _first_positions(batches, keys)
    found: list[Indices] = []
    values: list[pa.Array] = []
    for number, batch in enumerate(batches):
        probe = np.flatnonzero(owner == number)
        if len(probe):
            found.append(probe)
            batch.need_rows(row[probe])
            values.append(gather(batch.values[0], pa.array(row[probe])))
    tied = np.flatnonzero(owner == _TIED)
    if len(tied):
        probe, value = _by_value(batches, keys.take(tied))
        found.append(tied[probe])
        values.append(value)
    if not found:
        return np.empty(0, np.int64), batches[0].values[0][:0]
    return np.concatenate(found), concat(values)


def _first_positions(batches: Sequence[Batch], keys: Hashes) -> tuple[Indices, Indices]:
    """For each key the batch and row of its first value, or ``_NOBODY``, or ``_TIED`` if values must be
    compared."""
    size = len(keys)
    places = [bounds_of(batch, *key_range(keys)) for batch in batches]
    owner, row = np.full(size, _NOBODY), np.empty(size, np.int64)
    word, second, total = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.int64)
    open_ = np.arange(size)
    while len(open_):
        word[open_], total[open_] = _LAST, 0
        for batch, (place, stop) in zip(batches, places, strict=True):
            _find_least(batch, keys, open_, place, stop, word, total)
        open_ = open_[total[open_] > 0]
        total[open_] = 0
        owner[open_] = _NOBODY
        for number, (batch, (place, stop)) in enumerate(zip(batches, places, strict=True)):
            assert batch.row_lo is not None
            batch.need_words(word[open_], word[open_])
            if batch.backing is not None:
                batch.need_rows(place[open_][place[open_] < stop[open_]])
            rows = (batch.order, batch.key_lo, batch.row_lo, batch.weights)
            _sum_up(*rows, keys.lo, open_, word, number, place, stop, owner, row, second, total)
        gone = (owner[open_] >= 0) & (total[open_] <= 0)
        open_ = open_[gone]
        owner[open_] = _NOBODY
    return owner, row


def _find_least(
    batch: Batch,
    keys: Hashes,
    open_: Indices,
    place: Indices,
    stop: Indices,
    word: Words,
    number: Indices,
) -> None:
    """:func:`_least`; in a batch on file block by block, because rows of other keys may be between."""
    if batch.backing is None:
        _least(batch.order, batch.key_lo, keys.lo, open_, place, stop, word, number)
        return
    left = open_[place[open_] < stop[open_]]
    while len(left):
        batch.need_rows(place[left])
        end = stop.copy()
        end[left] = np.minimum(stop[left], batch.backing.end_of_block(place[left]))
        _least(batch.order, batch.key_lo, keys.lo, left, place, end, word, number)
        left = left[(place[left] == end[left]) & (place[left] < stop[left])]


@kernel(types.void(WORDS, WORDS, WORDS, INT64S, NEW_INT64S, INT64S, NEW_WORDS, NEW_INT64S))
def _least(
    order: Words,
    key_lo: Words,
    lo: Words,
    open_: Indices,
    place: Indices,
    stop: Indices,
    word: Words,
    number: Indices,
) -> None:
    """Skips rows of other keys, then lowers ``word`` to that of the key's next row, and counts it."""
    for probe in open_:
        at = place[probe]
        while at < stop[probe] and key_lo[at] != lo[probe]:
            at += 1
        place[probe] = at
        if at < stop[probe]:
            number[probe] += 1
            word[probe] = min(word[probe], order[at])


@kernel(
    types.void(
        WORDS,
        WORDS,
        WORDS,
        INT64S,
        WORDS,
        INT64S,
        WORDS,
        types.int64,
        NEW_INT64S,
        INT64S,
        NEW_INT64S,
        NEW_INT64S,
        NEW_WORDS,
        NEW_INT64S,
    )
)
def _sum_up(
    order: Words,
    key_lo: Words,
    row_lo: Words,
    weights: Indices,
    lo: Words,
    open_: Indices,
    word: Words,
    number: int,
    place: Indices,
    stop: Indices,
    owner: Indices,
    row: Indices,
    second: Words,
    total: Indices,
) -> None:
    """Sums the rows that have the key's word, and moves the cursor past them."""
    for probe in open_:
        at = place[probe]
        while at < stop[probe] and order[at] == word[probe]:
            if key_lo[at] == lo[probe]:
                if owner[probe] == _NOBODY:
                    owner[probe], row[probe], second[probe] = number, at, row_lo[at]
                elif second[probe] != row_lo[at]:
                    owner[probe] = _TIED
                total[probe] += weights[at]
            at += 1
        place[probe] = at


def _by_value(batches: Sequence[Batch], keys: Hashes) -> tuple[Indices, pa.Array]:
    """The same by comparing values. Reads a few rows of each key and batch, and more only for keys whose
    first rows cancel out: a batch's window is complete before its last row read, so a value below the
    smallest such last row is decided."""
    low, high = key_range(keys)
    bounds = [bounds_of(batch, low, high) for batch in batches]
    pending = np.arange(len(keys))
    found: list[Indices] = []
    values: list[pa.Array] = []
    window = 4
    while len(pending):
        probe, value, open_ = _decide(batches, bounds, keys, pending, window)
        found.append(probe)
        values.append(value)
        pending = open_
        window *= 8
    return np.concatenate(found), concat(values)


def _decide(
    batches: Sequence[Batch],
    bounds: Sequence[tuple[Indices, Indices]],
    keys: Hashes,
    pending: Indices,
    window: int,
) -> tuple[Indices, pa.Array, Indices]:
    """One round of :func:`_by_value`: decided probes, their values, and the probes still open."""
    probes, words, values, weights, last = [], [], [], [], []
    for batch, (start, stop) in zip(batches, bounds, strict=True):
        begin, size = start[pending], stop[pending] - start[pending]
        taken = np.minimum(size, window)
        probe, row = expand(begin, taken)
        batch.need_rows(row)
        ends = np.zeros(len(row), bool)
        ends[np.cumsum(taken)[(size > window)] - 1] = True
        # A row of another key has no weight here, but as the end of a window it still marks how far was read.
        weight = np.where(batch.key_lo[row] == keys.lo[pending[probe]], batch.weights[row], 0)
        probes.append(probe)
        words.append(batch.order[row])
        values.append(gather(batch.values[0], numbers(row)))
        weights.append(weight)
        last.append(ends)
    probe, word = np.concatenate(probes), np.concatenate(words)
    weight, ends = np.concatenate(weights), np.concatenate(last)
    value = concat(values)
    if len(probe) == 0:
        return probe, value, np.empty(0, np.int64)
    rank = dense_rank(value, descending=batches[0].ordered == "descending")
    perm = np.lexsort((rank, word, probe))
    probe, rank, weight, ends, word = probe[perm], rank[perm], weight[perm], ends[perm], word[perm]
    differs = (probe[1:] != probe[:-1]) | (rank[1:] != rank[:-1]) | (word[1:] != word[:-1])
    fresh = np.concatenate(([True], differs))
    starts = np.flatnonzero(fresh)
    total = np.add.reduceat(weight, starts)
    closing = np.logical_or.reduceat(ends, starts)
    owner = probe[starts]
    # Position of the first positive value and of the nearest window end, per probe.
    position = np.arange(len(starts))
    first_positive = _first_per_owner(owner, position, total > 0, len(pending))
    first_closing = _first_per_owner(owner, position, closing, len(pending))
    # The value at a window's end is not decided: if the end is another key's row of equal value, the next row
    # may be this key's own.
    decided = first_positive < first_closing
    undecided = (first_closing < len(starts)) & ~decided
    chosen = first_positive[decided]
    return pending[decided], gather(value, numbers(perm[starts[chosen]])), pending[undecided]


def _first_per_owner(owner: Indices, position: Indices, flag: NDArray[np.bool_], owners: int) -> Indices:
    """For each owner the smallest position whose flag is set, or ``len(position)`` if there is none."""
    first = np.full(owners, len(position), np.int64)
    np.minimum.at(first, owner[flag], position[flag])
    return first
