"""Vectorised reads of a spine by key.

Every read is a batch of probes. Each batch of the spine is searched once (:mod:`.search`; sorted probes touch
memory in order and are several times faster than random ones), and what comes back are flat index arrays:
which probe, which row. Cost: O(probes · log rows) per batch plus the matched rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.batch import Batch, Words, key_range
from penstock.trace.order import exact_rank
from penstock.trace.search import exact_rows, fill_matches, find_ranges, match_counts
from penstock.zset import Hashes

__all__ = ["Matches", "bounds_of", "expand", "lookup_first", "lookup_rows", "lookup_sums"]

Indices = NDArray[np.int64]

_AT_ONCE = 1 << 20
_NO_ROWS = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Matches:
    """Rows ``row`` of ``batch`` have the keys of probes ``probe`` (both arrays are equally long)."""

    batch: Batch
    probe: Indices
    row: Indices


def lookup_rows(batches: Sequence[Batch], keys: Hashes) -> Iterator[Matches]:
    """All rows of each key, batch by batch. A row's true weight is the sum over batches.

    A batch may come in several parts, so that however many rows match, few of them are held at a time."""
    first = np.empty(len(keys), np.int64)
    for batch in batches:
        total = match_counts(batch.order, batch.key_lo, keys.hi, keys.lo, first)
        reached = np.zeros(2, np.int64)
        while total > 0:
            size = min(total, _AT_ONCE)
            probe, row = np.empty(size, np.int64), np.empty(size, np.int64)
            total -= fill_matches(batch.order, batch.key_lo, keys.hi, keys.lo, first, reached, probe, row)
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
    found = np.empty(len(keys), np.int64)
    for batch in batches:
        second = _NO_ROWS if rows is None or batch.row_lo is None else batch.row_lo
        exact_rows(
            batch.order, batch.key_lo, second, keys.hi, keys.lo, _NO_ROWS if rows is None else rows, found
        )
        probe = np.flatnonzero(found >= 0)
        row = found[probe]
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


def bounds_of(batch: Batch, low: Words, high: Words) -> tuple[Indices, Indices]:
    """First and one-past-last row of each probe's range of order words."""
    start, stop = np.empty(len(low), np.int64), np.empty(len(low), np.int64)
    find_ranges(batch.order, low, high, start, stop)
    return start, stop


def expand(start: Indices, size: Indices) -> tuple[Indices, Indices]:
    """Flattens ranges: for each range its number, repeated, beside the rows in it."""
    total = int(size.sum())
    probe = np.repeat(np.arange(len(size)), size)
    offset = np.cumsum(size) - size
    row = np.arange(total) - np.repeat(offset - start, size)
    return probe, row
