"""The net effect of a step's operations on a keyed table, key by key, in push order: compiled loops.

Rows are numbers of pushed rows; ``perm`` sorts them by key and keeps those of one key in push order.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.circuit.operation import Operation
from penstock.zset.kernel import BOOLS, INT8S, INT64S, NEW_INT64S, WORDS, kernel

__all__ = ["add_weights", "final_rows", "first_of_keys"]

Words = NDArray[np.uint64]
Int8s = NDArray[np.int8]
Int64s = NDArray[np.int64]

_DELETE, _INSERT = int(Operation.DELETE), int(Operation.INSERT)


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


@kernel(types.int64(INT64S, INT64S, INT8S, BOOLS, NEW_INT64S, NEW_INT64S))
def final_rows(
    perm: Int64s, start: Int64s, operations: Int8s, held: NDArray[np.bool_], final: Int64s, outcome: Int64s
) -> int:
    """Fills ``final`` with the row that each key ends up with, in the order of the keys; returns how many.

    ``outcome[0]`` is the number of deletes whose key did not exist, ``outcome[1]`` the first row that was
    inserted under an existing key (-1 if there is none). ``held`` says which keys the table holds before the
    step."""
    left = 0
    outcome[0], outcome[1] = 0, -1
    for key in range(len(start)):
        end = start[key + 1] if key + 1 < len(start) else len(perm)
        there = held[key]
        for i in range(start[key], end):
            what = operations[perm[i]]
            if what == _INSERT and there and outcome[1] < 0:
                outcome[1] = perm[i]
            if what == _DELETE and not there:
                outcome[0] += 1
            there = what != _DELETE
        if there:
            final[left] = perm[end - 1]
            left += 1
    return left
