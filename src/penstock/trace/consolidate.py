"""Consolidates sorted rows: equal ones are combined, and those that sum to zero are dropped.

One compiled pass over the sorted rows instead of a dozen NumPy calls: on the few hundred rows of a small step
those cost five times as much, and on a million they are as many passes over memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import INT64S, NEW_INT64S, NEW_WORDS, WORDS, kernel

__all__ = ["Consolidated", "consolidate"]

Words = NDArray[np.uint64]
Int64s = NDArray[np.int64]

_Item = TypeVar("_Item", np.uint64, np.int64)
_NO_ROWS = np.empty(0, np.uint64)
_STRANGERS = -1


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The remaining rows: the position of the first of each, its words, and the sums over its equals."""

    first: Int64s
    order: Words
    key_lo: Words
    row_lo: Words | None
    weights: Int64s
    sums: dict[str, Int64s]


def consolidate(
    perm: Int64s,
    order: Words,
    key_lo: Words,
    row_lo: Words | None,
    weights: Int64s,
    sums: Mapping[str, Int64s],
    times: Words | None = None,
    *,
    grouped: bool = False,
) -> Consolidated | None:
    """The rows in the order of ``perm``, which sorts them by ``order``, each identity once.

    None if rows of different identity share their order word: then equal ones need not be adjacent, unless
    the caller guarantees that with ``grouped``."""
    size = len(perm)
    first, start, total = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    word, key = np.empty(size, np.uint64), np.empty(size, np.uint64)
    row = _NO_ROWS if row_lo is None else np.empty(size, np.uint64)
    identity = order, key_lo, _NO_ROWS if row_lo is None else row_lo, _NO_ROWS if times is None else times
    left = _runs(perm, *identity, weights, bool(sums), grouped, first, start, word, key, row, total)
    if left == _STRANGERS:
        return None
    totals = {name: np.empty(left, np.int64) for name in sums}
    for name, column in sums.items():
        _run_sums(perm, start[:left], column, totals[name])
    alive = None if not sums else _alive(total[:left], totals)
    return Consolidated(
        _kept(first, left, alive),
        _kept(word, left, alive),
        _kept(key, left, alive),
        None if row_lo is None else _kept(row, left, alive),
        _kept(total, left, alive),
        {name: _kept(column, left, alive) for name, column in totals.items() if column.any()},
    )


def _alive(weights: Int64s, sums: Mapping[str, Int64s]) -> NDArray[np.bool_] | None:
    """Which rows have a nonzero component; None if all have."""
    alive = weights != 0
    for column in sums.values():
        alive |= column != 0
    return None if alive.all() else alive


def _kept(column: NDArray[_Item], left: int, alive: NDArray[np.bool_] | None) -> NDArray[_Item]:
    """The first ``left`` entries, or the nonzero ones of them, in little more memory than they need."""
    if alive is not None:
        return column[:left][alive]
    return column[:left] if 2 * left >= len(column) else column[:left].copy()


@kernel(
    types.int64(
        INT64S,
        WORDS,
        WORDS,
        WORDS,
        WORDS,
        INT64S,
        types.boolean,
        types.boolean,
        NEW_INT64S,
        NEW_INT64S,
        NEW_WORDS,
        NEW_WORDS,
        NEW_WORDS,
        NEW_INT64S,
    )
)
def _runs(
    perm: Int64s,
    order: Words,
    key_lo: Words,
    row_lo: Words,
    times: Words,
    weights: Int64s,
    keep_all: bool,
    grouped: bool,
    first: Int64s,
    start: Int64s,
    word: Words,
    key: Words,
    row: Words,
    total: Int64s,
) -> int:
    """Fills the last six arrays with the runs of equal rows; those of weight zero only if ``keep_all``.

    Returns how many there are, or -1 if rows with the same word are not all equal and not ``grouped``."""
    size, rowed, timed, left, i = len(perm), len(row_lo) > 0, len(times) > 0, 0, 0
    while i < size:
        place = perm[i]
        added = weights[place]
        j = i + 1
        while j < size and order[perm[j]] == order[place]:
            other = perm[j]
            if (
                key_lo[other] != key_lo[place]
                or (rowed and row_lo[other] != row_lo[place])
                or (timed and times[other] != times[place])
            ):
                if grouped:
                    break
                return -1
            added += weights[other]
            j += 1
        if added != 0 or keep_all:
            first[left], start[left], total[left] = place, i, added
            word[left], key[left] = order[place], key_lo[place]
            if rowed:
                row[left] = row_lo[place]
            left += 1
        i = j
    return left


@kernel(types.void(INT64S, INT64S, INT64S, NEW_INT64S))
def _run_sums(perm: Int64s, start: Int64s, column: Int64s, total: Int64s) -> None:
    """The sum of ``column`` over each run."""
    for run in range(len(start)):
        end = start[run + 1] if run + 1 < len(start) else len(perm)
        added = 0
        for i in range(start[run], end):
            added += column[perm[i]]
        total[run] = added
