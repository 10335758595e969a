"""Which rows of a change can be among the first of their key, judged by their order words alone.

If many rows of a key arrive at once, few of them are within a limit. The others are found by one sort of one
word, before anything is hashed or copied.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import INT64S, NEW_INT64S, WORDS, kernel

__all__ = ["first_candidates"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]


def first_candidates(order: Words, key_lo: Words, count: int) -> Indices:
    """The rows of each key, except those that have at least ``count`` other rows of the key before them.

    Rows with equal words count as neither before nor after each other."""
    kept = np.empty(len(order), np.int64)
    return kept[: _first_rows(order, key_lo, order.argsort(), count, kept)]


@kernel(types.int64(WORDS, WORDS, INT64S, types.int64, NEW_INT64S))
def _first_rows(order: Words, key_lo: Words, perm: Indices, count: int, kept: Indices) -> int:
    size, start, found = len(perm), 0, 0
    while start < size:
        first = perm[start]
        stop, alone = start, True
        while stop < size and order[perm[stop]] >> np.uint64(32) == order[first] >> np.uint64(32):
            alone &= key_lo[perm[stop]] == key_lo[first]
            stop += 1
        end = stop
        if alone and stop - start > count:  # if keys collide (once in four billion) all rows are kept
            end = start + count
            while end < stop and order[perm[end]] == order[perm[end - 1]]:
                end += 1
        for at in range(start, end):
            kept[found] = perm[at]
            found += 1
        start = stop
    return found
