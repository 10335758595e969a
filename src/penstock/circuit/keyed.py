"""What a step's operations on a keyed table come to, key by key, in push order: compiled loops.

Rows are numbers of pushed rows; ``perm`` sorts them by key and leaves those of one key in push order.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import BOOLS, INT64S, NEW_INT64S, WORDS, kernel

__all__ = ["DELETE", "INSERT", "UPSERT", "add_weights", "first_of_keys", "settle"]

Words = NDArray[np.uint64]
Int64s = NDArray[np.int64]

# What the weight of a pushed row means for a keyed table.
UPSERT, DELETE, INSERT = 1, -1, 2


@kernel(types.int64(INT64S, WORDS, WORDS, NEW_INT64S))
def first_of_keys(perm: Int64s, hi: Words, lo: Words, start: Int64s) -> int:
    """Where in ``perm`` each key begins; returns the number of keys."""
    keys = 0
    for i in range(len(perm)):
        if i == 0 or hi[perm[i]] != hi[perm[i - 1]] or lo[perm[i]] != lo[perm[i - 1]]:
            start[keys] = i
            keys += 1
    return keys


@kernel(types.void(INT64S, INT64S, INT64S, NEW_INT64S))
def add_weights(probe: Int64s, row: Int64s, weights: Int64s, totals: Int64s) -> None:
    """Adds to each probe's total the weights of its rows."""
    for i in range(len(probe)):
        totals[probe[i]] += weights[row[i]]


@kernel(types.int64(INT64S, INT64S, INT64S, BOOLS, NEW_INT64S, NEW_INT64S))
def settle(
    perm: Int64s, start: Int64s, operation: Int64s, held: NDArray[np.bool_], final: Int64s, told: Int64s
) -> int:
    """Fills ``final`` with the rows that their keys end up with, in the order of the keys; returns how many.

    ``told[0]`` is the number of deletes whose key was not there, ``told[1]`` the first row that was inserted
    under a key that was (-1 if there is none). ``held`` says which keys the table holds before the step."""
    left = 0
    told[0], told[1] = 0, -1
    for key in range(len(start)):
        end = start[key + 1] if key + 1 < len(start) else len(perm)
        there = held[key]
        for i in range(start[key], end):
            what = operation[perm[i]]
            if what == INSERT and there and told[1] < 0:
                told[1] = perm[i]
            if what == DELETE and not there:
                told[0] += 1
            there = what != DELETE
        if there:
            final[left] = perm[end - 1]
            left += 1
    return left
