"""Vectorised reads of a spine by key.

Every read is a batch of probes. Probes are sorted first (a sorted search touches memory in order and is
several times faster than a random one), each batch of the spine is searched once, and what comes back
are flat index arrays: which probe, which row. Cost: O(probes · log rows) per batch plus the matched rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.batch import Batch, Words, key_range
from penstock.trace.order import exact_rank
from penstock.zset import Hashes

__all__ = ["Matches", "bounds_of", "expand", "lookup_first", "lookup_rows", "lookup_sums"]

Indices = NDArray[np.int64]

_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Matches:
    """Rows ``row`` of ``batch`` have the keys of probes ``probe`` (both arrays are equally long)."""

    batch: Batch
    probe: Indices
    row: Indices


def lookup_rows(batches: Sequence[Batch], keys: Hashes) -> Iterator[Matches]:
    """All rows of each key, batch by batch. A row's true weight is the sum over batches.

    A batch may come in several parts, so that however many rows match, few of them are held at a time."""
    low, high = key_range(keys)
    for batch in batches:
        start, stop = bounds_of(batch, low, high)
        for probe, row in _expand_in_parts(start, stop - start):
            own = batch.key_lo[row] == keys.lo[probe]
            if not own.all():
                probe, row = probe[own], row[own]
            if len(row):
                yield Matches(batch, probe, row)


def lookup_sums(
    batches: Sequence[Batch], keys: Hashes, rows: Words | None = None
) -> tuple[Indices, dict[str, Indices]]:
    """The total weight and the total of every additive column of each key, where the key is the identity.

    The ``hi`` lane of ``keys`` is the whole order word. In batches whose rows have an identity beside their
    key, ``rows`` gives the second lane of the row's hash, and the totals are those of single rows.
    """
    weights = np.zeros(len(keys), np.int64)
    sums: dict[str, Indices] = {}
    for batch in batches:
        probe, row = _exact(batch, keys, rows)
        # A consolidated batch holds a key once, and probes are distinct rows of the answer: plain
        # indexed addition is safe (no index occurs twice).
        weights[probe] += batch.weights[row]
        for name, total in batch.sums.items():
            sums.setdefault(name, np.zeros(len(keys), np.int64))[probe] += total[row]
    return weights, sums


def lookup_first(batches: Sequence[Batch], keys: Hashes) -> tuple[Indices, pa.Array | None]:
    """For each key the first value, in the batches' order, whose total weight is positive.

    Returns the probes that have one and their values (None where no batch has a row at all). Reads a few
    rows of each key and batch, and more only for keys whose first rows cancel out: a batch's window is
    complete before its last row read, so a value below the smallest such last row is decided.
    """
    batches = [batch for batch in batches if len(batch)]
    if not batches or len(keys) == 0:
        return np.empty(0, np.int64), None
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
    return np.concatenate(found), pa.concat_arrays(values)


def _decide(
    batches: Sequence[Batch],
    bounds: Sequence[tuple[Indices, Indices]],
    keys: Hashes,
    pending: Indices,
    window: int,
) -> tuple[Indices, pa.Array, Indices]:
    """One round of :func:`lookup_first`: decided probes, their values, and the probes still open."""
    probes, words, values, weights, last = [], [], [], [], []
    for batch, (start, stop) in zip(batches, bounds, strict=True):
        begin, size = start[pending], stop[pending] - start[pending]
        taken = np.minimum(size, window)
        probe, row = expand(begin, taken)
        ends = np.zeros(len(row), bool)
        ends[np.cumsum(taken)[(size > window)] - 1] = True
        # A stranger's row counts for nothing, but as the end of a window it still marks how far we read.
        weight = np.where(batch.key_lo[row] == keys.lo[pending[probe]], batch.weights[row], 0)
        probes.append(probe)
        words.append(batch.order[row])
        values.append(batch.values[0].take(pa.array(row)))
        weights.append(weight)
        last.append(ends)
    probe, word = np.concatenate(probes), np.concatenate(words)
    weight, ends = np.concatenate(weights), np.concatenate(last)
    value = pa.concat_arrays(values)
    if len(probe) == 0:
        return probe, value, np.empty(0, np.int64)
    rank = exact_rank(value, descending=batches[0].ordered == "descending")
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
    # The value at a window's end is itself not decided: where the end is a stranger's row of an equal
    # value, this key's own row of it may be the very next one.
    decided = first_positive < first_closing
    undecided = (first_closing < len(starts)) & ~decided
    chosen = first_positive[decided]
    return pending[decided], value.take(pa.array(perm[starts[chosen]])), pending[undecided]


def _first_per_owner(owner: Indices, position: Indices, flag: NDArray[np.bool_], owners: int) -> Indices:
    """For each owner the smallest position whose flag is set, or ``len(position)`` if there is none."""
    first = np.full(owners, len(position), np.int64)
    np.minimum.at(first, owner[flag], position[flag])
    return first


def _exact(batch: Batch, keys: Hashes, rows: Words | None) -> tuple[Indices, Indices]:
    """Probes whose identity is in the batch, and their rows, where the order word is the keys' ``hi`` lane.

    One search is enough unless two rows share the word, which then takes the way of ranges."""
    if len(batch) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if bool((keys.hi[1:] >= keys.hi[:-1]).all()):
        start = np.searchsorted(batch.order, keys.hi)
    else:
        perm = np.argsort(keys.hi)
        start = np.empty(len(keys), np.int64)
        start[perm] = np.searchsorted(batch.order, keys.hi[perm])
    at = np.minimum(start, len(batch) - 1)
    found = batch.order[at] == keys.hi
    own = found & _is_own(batch, at, keys.lo, rows)
    if not np.array_equal(own, found):
        first, last = bounds_of(batch, keys.hi, keys.hi)
        probe, row = expand(first, last - first)
        mine = _is_own(batch, row, keys.lo[probe], None if rows is None else rows[probe])
        return probe[mine], row[mine]
    probe = np.flatnonzero(own)
    return probe, at[probe]


def _is_own(batch: Batch, row: Indices, key_lo: Words, row_lo: Words | None) -> NDArray[np.bool_]:
    """Whether rows have the second lanes of their probes."""
    own: NDArray[np.bool_] = batch.key_lo[row] == key_lo
    if row_lo is not None:
        assert batch.row_lo is not None
        own &= batch.row_lo[row] == row_lo
    return own


def bounds_of(batch: Batch, low: Words, high: Words) -> tuple[Indices, Indices]:
    """First and one-past-last row of each probe's range of order words."""
    if bool((low[1:] >= low[:-1]).all()):
        return np.searchsorted(batch.order, low, "left"), np.searchsorted(batch.order, high, "right")
    perm = np.argsort(low)
    start = np.empty(len(low), np.int64)
    stop = np.empty(len(low), np.int64)
    start[perm] = np.searchsorted(batch.order, low[perm], "left")
    stop[perm] = np.searchsorted(batch.order, high[perm], "right")
    return start, stop


def expand(start: Indices, size: Indices) -> tuple[Indices, Indices]:
    """Flattens ranges: for each range its number, repeated, beside the rows in it."""
    total = int(size.sum())
    probe = np.repeat(np.arange(len(size)), size)
    offset = np.cumsum(size) - size
    row = np.arange(total) - np.repeat(offset - start, size)
    return probe, row


def _expand_in_parts(start: Indices, size: Indices) -> Iterator[tuple[Indices, Indices]]:
    """The same in parts of bounded length: a cross join must not hold all pairs at the same time."""
    total = int(size.sum())
    if total <= _AT_ONCE:
        if total:
            yield expand(start, size)
        return
    ends = np.cumsum(size)
    for first in range(0, total, _AT_ONCE):
        place = np.arange(first, min(first + _AT_ONCE, total))
        probe = np.searchsorted(ends, place, "right")
        yield probe, start[probe] + place - (ends[probe] - size[probe])
