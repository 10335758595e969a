"""Rows by where they lie, at places of their key's order: what a limit holds before a step and after it.

Most rows are within a limit before and after; they are found by where they lie, and their values are never
looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.trace import Prefix
from penstock.trace.sorting import order_of, same_as_before

__all__ = ["Placed", "within"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Placed:
    """Row ``row`` of batch ``batch``, so many times, and at which place it is if that matters."""

    batch: Indices
    row: Indices
    weights: Indices
    place: Indices

    def minus(self, other: Placed) -> Placed:
        """What is here and not there, and the other way round with negative weight."""
        batch, row, weights, place = (
            np.concatenate(parts)
            for parts in (
                (self.batch, other.batch),
                (self.row, other.row),
                (self.weights, -other.weights),
                (self.place, other.place),
            )
        )
        by = (batch, row, place)
        perm = order_of(by)
        fresh = np.concatenate((np.ones(min(1, len(perm)), bool), ~same_as_before(by, perm)))
        starts = np.flatnonzero(fresh)
        total = np.add.reduceat(weights[perm], starts) if len(starts) else weights
        kept = perm[starts[total != 0]]
        return Placed(batch[kept], row[kept], total[total != 0], place[kept])


def within(found: Prefix, first: int, last: int, *, numbered: bool) -> Placed:
    """The rows from place ``first`` on and before ``last``; if ``numbered`` every copy at a place of its own,
    otherwise their places do not matter."""
    inside = np.minimum(found.place + found.weights, last) - np.maximum(found.place, first)
    taken = inside > 0
    batch, row, inside = found.batch[taken], found.row[taken], inside[taken]
    if not numbered:
        return Placed(batch, row, inside, np.zeros(len(row), np.int64))
    nth = np.arange(inside.sum()) - np.repeat(np.cumsum(inside) - inside, inside)
    place = np.repeat(np.maximum(found.place[taken], first), inside) + nth
    return Placed(np.repeat(batch, inside), np.repeat(row, inside), np.ones(len(place), np.int64), place)
