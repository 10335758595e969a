"""Intervals of time, and the sessions they form when those that touch are merged.

Intervals are closed: one that begins exactly when another ends touches it. Times are in microseconds.
Intervals belong to *owners* (a key, or a part of one), given by number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.trace.sorting import order_of
from penstock.zset.kernel import INT64S, NEW_INT64S, kernel

__all__ = ["Intervals", "containing", "moment_words", "united"]

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

_SIGN = np.uint64(1 << 63)


def moment_words(moments: Indices) -> Words:
    """Words that compare as timestamps do, including those before 1970."""
    words: Words = moments.view(np.uint64) ^ _SIGN
    return words


@dataclass(frozen=True)
class Intervals:
    """Intervals, or sessions, sorted by owner and start."""

    owner: Indices
    start: Indices
    end: Indices

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, some: Indices | NDArray[np.bool_]) -> Intervals:
        """Some of them; the result must be sorted again."""
        return Intervals(self.owner[some], self.start[some], self.end[some])

    @staticmethod
    def concat(parts: list[Intervals]) -> Intervals:
        """All of them, concatenated: sorted only if the parts are."""
        owner, start, end = (
            np.concatenate(columns)
            for columns in zip(*((p.owner, p.start, p.end) for p in parts), strict=True)
        )
        return Intervals(owner, start, end)


def united(intervals: Intervals, order: Indices | None = None) -> tuple[Intervals, Indices]:
    """The sessions of each owner, and for each interval the number of its session. ``order`` sorts the
    intervals by owner and start."""
    if order is None:
        order = order_of((intervals.owner, moment_words(intervals.start)))
    size = len(order)
    session, owner, start, end = (np.empty(size, np.int64) for _ in range(4))
    count = _unite(order, intervals.owner, intervals.start, intervals.end, session, owner, start, end)
    return Intervals(owner[:count], start[:count], end[:count]), session


@kernel(types.int64(INT64S, INT64S, INT64S, INT64S, NEW_INT64S, NEW_INT64S, NEW_INT64S, NEW_INT64S))
def _unite(
    order: Indices,
    owner: Indices,
    start: Indices,
    end: Indices,
    session: Indices,
    its_owner: Indices,
    its_start: Indices,
    its_end: Indices,
) -> int:
    """Fills the last four; returns how many sessions there are."""
    last = -1
    for row in order:
        if last < 0 or owner[row] != its_owner[last] or start[row] > its_end[last]:
            last += 1
            its_owner[last], its_start[last], its_end[last] = owner[row], start[row], end[row]
        elif end[row] > its_end[last]:
            its_end[last] = end[row]
        session[row] = last
    return last + 1


def containing(sessions: Intervals, owner: Indices, moment: Indices) -> Indices:
    """The number of each owner's session that contains a timestamp, or -1."""
    found = np.empty(len(owner), np.int64)
    _find(sessions.owner, sessions.start, sessions.end, owner, moment, found)
    return found


@kernel(types.void(INT64S, INT64S, INT64S, INT64S, INT64S, NEW_INT64S))
def _find(
    its_owner: Indices, its_start: Indices, its_end: Indices, owner: Indices, moment: Indices, found: Indices
) -> None:
    for row in range(len(owner)):
        low, high = 0, len(its_owner)
        while low < high:
            middle = (low + high) >> 1
            before = its_owner[middle] < owner[row] or (
                its_owner[middle] == owner[row] and its_start[middle] <= moment[row]
            )
            if before:
                low = middle + 1
            else:
                high = middle
        at = low - 1
        inside = at >= 0 and its_owner[at] == owner[row] and moment[row] <= its_end[at]
        found[row] = at if inside else -1
