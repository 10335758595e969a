"""Sorting many lists at once by a comparison that can only be asked about pairs of elements.

Every question is put for all lists together, as one call with many pairs. Lists of fewer than 32 elements
are sorted exactly as Java sorts them (the run at the beginning, then binary insertion), so that even
a comparison that describes no order, because it calls NULL equal to everything, say, leads to Java's result.
Longer lists go through Batcher's odd-even merge sort, whose layers are few (about log² n / 2); equal
elements keep their order as in Java's sort, so the result is the same for all comparisons that do
describe an order. Cost: O(n log n) calls for short lists, O(log² n) for long ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from penstock.expr.functions.lists import Integers

__all__ = ["JAVA_RUN", "Compare", "sort_lists"]

Compare = Callable[[Integers, Integers, Integers], Integers]
"""Gets the list of each pair and the places of its two elements; negative means that the left one is less."""

JAVA_RUN = 32
"""Java merges only from this length on."""


def sort_lists(lengths: Integers, compare: Compare) -> Integers:
    """The places of all elements, list by list, each list in the order of ``compare``."""
    firsts = np.cumsum(lengths) - lengths
    order = np.arange(int(lengths.sum()))
    short = np.flatnonzero((lengths > 1) & (lengths < JAVA_RUN))
    if len(short):
        _insertion(order, short, firsts[short], lengths[short], compare)
    long = np.flatnonzero(lengths >= JAVA_RUN)
    if len(long):
        _merging(order, long, firsts[long], lengths[long], compare)
    return order


def _insertion(
    order: Integers, lists: Integers, firsts: Integers, lengths: Integers, compare: Compare
) -> None:
    width = int(lengths.max())
    columns = np.arange(width)
    inside = columns < lengths[:, None]
    matrix = np.where(inside, firsts[:, None] + columns, 0)
    run = _first_run(matrix, lists, lengths, compare)
    for start in range(1, width):
        rows = np.flatnonzero((run <= start) & (lengths > start))
        if len(rows):
            place = _insertion_place(matrix, rows, start, lists, compare)[:, None]
            prefix = columns[: start + 1]
            source = np.where(prefix < place, prefix, np.where(prefix == place, start, prefix - 1))
            matrix[rows, : start + 1] = np.take_along_axis(matrix[rows], source, axis=1)
    order[(firsts[:, None] + columns)[inside]] = matrix[inside]


def _first_run(matrix: Integers, lists: Integers, lengths: Integers, compare: Compare) -> Integers:
    """How many elements at the beginning of each list are in order, after turning those that fall around."""
    run = lengths.copy()
    falling = np.zeros(len(lists), np.bool_)
    active = np.arange(len(lists))
    for column in range(1, matrix.shape[1]):
        active = active[lengths[active] > column]
        if not len(active):
            break
        less = compare(lists[active], matrix[active, column], matrix[active, column - 1]) < 0
        if column == 1:
            falling[active] = less
        goes_on = less == falling[active]
        run[active[~goes_on]] = column
        active = active[goes_on]
    columns = np.arange(matrix.shape[1])
    turned = falling[:, None] & (columns < run[:, None])
    matrix[:] = np.take_along_axis(matrix, np.where(turned, run[:, None] - 1 - columns, columns), axis=1)
    return run


def _insertion_place(
    matrix: Integers, rows: Integers, start: int, lists: Integers, compare: Compare
) -> Integers:
    """Where the element at ``start`` belongs among those before it, by halving."""
    low, high = np.zeros(len(rows), np.int64), np.full(len(rows), start)
    open_rows = np.arange(len(rows))
    while len(open_rows):
        middle = (low[open_rows] + high[open_rows]) // 2
        at = rows[open_rows]
        less = compare(lists[at], matrix[at, start], matrix[at, middle]) < 0
        high[open_rows[less]] = middle[less]
        low[open_rows[~less]] = middle[~less] + 1
        open_rows = open_rows[low[open_rows] < high[open_rows]]
    return low


def _merging(order: Integers, lists: Integers, firsts: Integers, lengths: Integers, compare: Compare) -> None:
    longest_first = np.argsort(-lengths, kind="stable")
    falling = -lengths[longest_first]
    for low, high in _network(int(lengths.max())):
        # One comparison per pair of positions and per list that is long enough to have both.
        counts = np.searchsorted(falling, -high)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = longest_first[within]
        left = firsts[chosen] + np.repeat(low, counts)
        right = firsts[chosen] + np.repeat(high, counts)
        outcome = compare(lists[chosen], order[left], order[right])
        swap = (outcome > 0) | ((outcome == 0) & (order[left] > order[right]))
        left, right = left[swap], right[swap]
        order[left], order[right] = order[right], order[left]


def _network(length: int) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Batcher's odd-even merge sort: layers of pairs of positions, in which no position stands twice."""
    positions = np.arange(length)
    merged = 1
    while merged < length:
        distance = merged
        while distance:
            start = distance % merged
            low = positions[start : max(length - distance, 0)]
            low = low[((low - start) // distance) % 2 == 0]
            low = low[low // (2 * merged) == (low + distance) // (2 * merged)]
            yield low, low + distance
            distance //= 2
        merged *= 2
