"""Sorts rows by several words when they consist of a few sorted runs, as in a merge of batches.

NumPy sorts by several columns in one pass per column, whatever order the rows are in. Here existing runs are
detected and merged pairwise, comparing all columns at once, and only the overlapping part of two runs is
touched. Rows in random order cost no more than NumPy's passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import NEW_INT64S, Number, inlined, kernel

__all__ = ["order_of", "same_as_before"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]

_TABLE = types.Array(types.uint64, 2, "C", readonly=True)


def order_of(columns: Sequence[NDArray[np.generic]]) -> Indices:
    """The permutation that sorts rows by the first column, then the second and so on. Stable. Columns hold
    nonnegative integers."""
    table = np.stack([column.astype(np.uint64, copy=False) for column in columns])
    order = np.arange(table.shape[1])
    if len(order) > 1:
        _merge_runs(table, order, np.empty_like(order), np.empty(len(order) + 1, np.int64))
    return order


def same_as_before(columns: Sequence[NDArray[np.generic]], order: Indices) -> NDArray[np.bool_]:
    """For each row but the first, in that order: whether it has the same words as the one before it."""
    same = np.ones(max(0, len(order) - 1), bool)
    for column in columns:
        sorted_ = column[order]
        same &= sorted_[1:] == sorted_[:-1]
    return same


@inlined
def _less(table: Number, a: Number, b: Number) -> Number:
    for column in range(table.shape[0]):
        one, other = table[column, a], table[column, b]
        if one != other:
            return one < other
    return False


@kernel(types.void(_TABLE, NEW_INT64S, NEW_INT64S, NEW_INT64S))
def _merge_runs(table: Words, order: Indices, scratch: Indices, starts: Indices) -> None:
    """Sorts ``order``: finds its runs, then merges neighbours until one is left."""
    size, runs = len(order), 1
    starts[0] = 0
    for at in range(1, size):
        if _less(table, order[at], order[at - 1]):
            starts[runs] = at
            runs += 1
    starts[runs] = size
    while runs > 1:
        left = 0
        for run in range(0, runs - 1, 2):
            begin, middle, end = starts[run], starts[run + 1], starts[run + 2]
            # Rows before the second run's first row, or after the first run's last, are already in place.
            low, high = begin, middle
            while low < high:
                probe = (low + high) // 2
                if _less(table, order[middle], order[probe]):
                    high = probe
                else:
                    low = probe + 1
            begin = low
            low, high = middle, end
            while low < high:
                probe = (low + high) // 2
                if _less(table, order[probe], order[middle - 1]):
                    low = probe + 1
                else:
                    high = probe
            end = low
            kept = middle - begin
            scratch[:kept] = order[begin:middle]
            first, second, at = 0, middle, begin
            while first < kept and second < end:
                if _less(table, order[second], scratch[first]):
                    order[at] = order[second]
                    second += 1
                else:
                    order[at] = scratch[first]
                    first += 1
                at += 1
            while first < kept:
                order[at] = scratch[first]
                first += 1
                at += 1
            starts[left] = starts[run]
            left += 1
        if runs % 2:
            starts[left] = starts[runs - 1]
            left += 1
        starts[left] = size
        runs = left
