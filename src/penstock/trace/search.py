"""Searching a batch's order words: the compiled loops behind all lookups.

Probes usually come sorted, so each search starts where the last one ended and gallops: the distance doubles
until it overshoots, then binary search follows. A probe below the one before it starts from the beginning.
Cost of one probe: the logarithm of its distance from the last one. If there are few probes of a large batch,
its directory is used instead (:mod:`.directory`), passed as its arrays, which are empty if it is not to be
used. With fences, of a batch on file, only rows of blocks are read that :mod:`.backing` has asked for: a
search begins in the block that the fences give, and a run of rows is followed up to the next fence beyond it.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import INT32S, INT64S, NEW_BOOLS, NEW_INT64S, WORDS, Number, inlined, kernel

__all__ = ["add_found", "fill_matches", "find_ranges", "find_rows", "mark_ranges", "match_counts"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Starts = NDArray[np.int32]

_HIGH = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_NOTHING = np.int64(-1)


@inlined
def _first_between(order: Words, word: Number, low: Number, high: Number) -> Number:
    """The first place from ``low`` on whose word is at least ``word``; ``high`` if none is."""
    while low < high:
        middle = (low + high) >> 1
        if order[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _first_at_least(order: Words, word: Number, start: Number) -> Number:
    """The first position whose word is at least ``word``; all before ``start`` are known to be below it."""
    size = len(order)
    step = 1
    low, high = start, start
    while high < size and order[high] < word:
        low = high + 1
        high += step
        step *= 2
    return _first_between(order, word, low, min(high, size))


@inlined
def _row_of(block: Number, size: Number, scale: Words) -> Number:
    """The row at which a block begins, or the nearest one that the batch has."""
    return min(max(block * np.int64(scale[0]) - np.int64(scale[1]), np.int64(0)), np.int64(size))


@inlined
def _from_guess(order: Words, word: Number, at: Number, low: Number, high: Number) -> Number:
    """The same as :func:`_first_between`, where ``at`` is near: gallops from there."""
    at = min(max(at, low), high - 1)
    step = np.int64(1)
    if order[at] < word:
        low = at + 1
        at += step
        while at < high and order[at] < word:
            low = at + 1
            step *= 2
            at += step
        return _first_between(order, word, low, min(at, high))
    high = at
    at -= step
    while at >= low and order[at] >= word:
        high = at
        step *= 2
        at -= step
    return _first_between(order, word, max(at, low), high)


@inlined
def _guessed(order: Words, word: Number, low: Number, high: Number) -> Number:
    """The same for words that are spread evenly: starts where the word would be if they were."""
    if low >= high or word <= order[low]:
        return low
    if word > order[high - 1]:
        return high
    span = np.float64(order[high - 1] - order[low])
    at = low + np.int64(np.float64(word - order[low]) / span * np.float64(high - 1 - low))
    return _from_guess(order, word, at, low, high)


@inlined
def _in_block(order: Words, word: Number, block: Number, scale: Words, fences: Words) -> Number:
    """The same in the block before ``block``, whose first word is below ``word``, and that of ``block`` is
    not. Reads the block only where the word should be: its ends are another two places in memory, and the
    fences tell them."""
    low, high = _row_of(block - 1, len(order), scale), _row_of(block, len(order), scale)
    if low >= high:
        return low
    above = fences[block] if block < len(fences) else order[high - 1]
    below = fences[block - 1]
    if above <= below or word > above:
        return _first_between(order, word, low, high)
    share = np.float64(word - below) / np.float64(above - below)
    start = (block - 1) * np.int64(scale[0]) - np.int64(scale[1])
    at = start + np.int64(share * np.float64(high - start))
    return _from_guess(order, word, at, low, high)


@inlined
def _limit(order: Words, at: Number, high: Number, scale: Words, fences: Words) -> Number:
    """The position up to which rows from ``at`` on may have words of at most ``high``, and may be read."""
    if len(fences) == 0:
        return np.int64(len(order))
    # From the block of this row on: if it begins beyond ``high``, nobody has asked for it.
    block = (at + np.int64(scale[1])) // np.int64(scale[0])
    while block < len(fences) and fences[block] <= high:
        block += 1
    return _row_of(block, len(order), scale)


@inlined
def _seek(order: Words, word: Number, start: Number, starts: Starts, scale: Words, fences: Words) -> Number:
    """The first position whose word is at least ``word``; with a directory, independent of the last probe."""
    if len(fences) > 0:
        block = _guessed(fences, word, np.int64(0), np.int64(len(fences)))
        return _in_block(order, word, block, scale, fences) if block > 0 else np.int64(0)
    if len(starts) == 0:
        return _first_at_least(order, word, start)
    if word <= scale[0]:
        return np.int64(0)
    its = (word - scale[0]) >> scale[1]
    if its >= np.uint64(len(starts) - 1):
        return np.int64(len(order))
    return _first_between(order, word, np.int64(starts[its]), np.int64(starts[its + np.uint64(1)]))


@kernel(types.void(WORDS, WORDS, WORDS, WORDS, WORDS, NEW_INT64S, NEW_INT64S))
def find_ranges(
    order: Words, scale: Words, fences: Words, low: Words, high: Words, start: Indices, stop: Indices
) -> None:
    """First and one-past-last position of each range of words (both ends inclusive)."""
    at = 0
    starts = np.empty(0, np.int32)
    for i in range(len(low)):
        if len(fences) > 0:
            start[i] = _seek(order, low[i], 0, starts, scale, fences)
            stop[i] = len(order)
            if high[i] != _HIGH | _LOW:
                stop[i] = max(start[i], _seek(order, high[i] + np.uint64(1), 0, starts, scale, fences))
            continue
        if i > 0 and low[i] < low[i - 1]:
            at = 0
        at = _first_at_least(order, low[i], at)
        start[i] = at
        end = at
        if end < len(order) and order[end] <= high[i]:
            end = (
                len(order) if high[i] == _HIGH | _LOW else _first_at_least(order, high[i] + np.uint64(1), at)
            )
        stop[i] = end


@kernel(types.int64(WORDS, WORDS, INT32S, WORDS, WORDS, WORDS, WORDS, NEW_INT64S))
def match_counts(
    order: Words,
    key_lo: Words,
    starts: Starts,
    scale: Words,
    fences: Words,
    hi: Words,
    lo: Words,
    first: Indices,
) -> int:
    """How many rows have the key of a probe, over all probes; and for each probe where its key's run
    starts."""
    at = 0
    total = 0
    for i in range(len(hi)):
        low, high = hi[i] & _HIGH, hi[i] | _LOW
        if i > 0 and low < hi[i - 1] & _HIGH:
            at = 0
        at = _seek(order, low, at, starts, scale, fences)
        first[i] = at
        row = at
        limit = _limit(order, at, high, scale, fences)
        while row < limit and order[row] <= high:
            if key_lo[row] == lo[i]:
                total += 1
            row += 1
    return total


@kernel(types.int64(WORDS, WORDS, WORDS, WORDS, WORDS, WORDS, NEW_INT64S, NEW_INT64S, NEW_INT64S, NEW_INT64S))
def fill_matches(
    order: Words,
    key_lo: Words,
    scale: Words,
    fences: Words,
    hi: Words,
    lo: Words,
    first: Indices,
    reached: Indices,
    probe: Indices,
    row: Indices,
) -> int:
    """Writes the next matches into ``probe`` and ``row`` until they are full; returns how many.

    ``reached`` is the probe to continue with, and the number of rows of its run that were already examined.
    """
    filled = 0
    size = len(probe)
    i, skip = reached[0], reached[1]
    while i < len(hi) and filled < size:
        high = hi[i] | _LOW
        at = first[i] + skip
        limit = _limit(order, at, high, scale, fences)
        while at < limit and order[at] <= high and filled < size:
            if key_lo[at] == lo[i]:
                probe[filled] = i
                row[filled] = at
                filled += 1
            at += 1
        if filled < size:
            i += 1
            skip = np.int64(0)
        else:
            skip = at - first[i]
    reached[0], reached[1] = i, skip
    return filled


@kernel(types.void(WORDS, WORDS, WORDS, INT32S, WORDS, WORDS, WORDS, WORDS, WORDS, NEW_INT64S))
def find_rows(
    order: Words,
    key_lo: Words,
    row_lo: Words,
    starts: Starts,
    scale: Words,
    fences: Words,
    hi: Words,
    lo: Words,
    rows: Words,
    found: Indices,
) -> None:
    """The row of each probe, or -1: its word is ``hi``, its second lanes ``lo`` and, if given, ``rows``."""
    at = 0
    for i in range(len(hi)):
        if i > 0 and hi[i] < hi[i - 1]:
            at = 0
        at = _seek(order, hi[i], at, starts, scale, fences)
        found[i] = _NOTHING
        row = at
        limit = _limit(order, at, hi[i], scale, fences)
        while row < limit and order[row] == hi[i]:
            if key_lo[row] == lo[i] and (len(rows) == 0 or row_lo[row] == rows[i]):
                found[i] = row
                break
            row += 1


@kernel(types.void(WORDS, WORDS, WORDS, NEW_BOOLS))
def mark_ranges(fences: Words, low: Words, high: Words, wanted: NDArray[np.bool_]) -> None:
    """Marks the blocks that searches for these ranges of words (both ends inclusive) read."""
    size = np.int64(len(fences))
    for i in range(len(low)):
        block = max(_guessed(fences, low[i], np.int64(0), size) - 1, np.int64(0))
        while block < size and (fences[block] <= high[i]):
            wanted[block] = True
            block += 1


@kernel(types.void(INT64S, INT64S, NEW_INT64S))
def add_found(found: Indices, column: Indices, totals: Indices) -> None:
    """Adds to each total the value of ``column`` at its row of ``found``, if there is one."""
    for i in range(len(found)):
        if found[i] >= 0:
            totals[i] += column[found[i]]


def expand(start: Indices, size: Indices) -> tuple[Indices, Indices]:
    """Flattens ranges: for each row of each range, the number of the range and the row."""
    total = int(size.sum())
    probe = np.repeat(np.arange(len(size)), size)
    offset = np.cumsum(size) - size
    row = np.arange(total) - np.repeat(offset - start, size)
    return probe, row
