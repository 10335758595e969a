"""Rows by batch and row number, with positions in their key's order: a limit's rows before and after a step.

Most rows are within the limit both before and after; they are recognised by batch and row number, and their
values are never read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.trace import Prefix
from penstock.trace.sorting import order_of, same_as_before

__all__ = ["RankedRows", "within"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class RankedRows:
    """Row ``row`` of batch ``batch``, with a weight, and its position if that matters."""

    batch: Indices
    row: Indices
    weights: Indices
    place: Indices

    def minus(self, other: RankedRows) -> RankedRows:
        """The difference: rows of this one, and those of the other with negative weight."""
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
        return RankedRows(batch[kept], row[kept], total[total != 0], place[kept])


def within(found: Prefix, first: int, last: int, *, numbered: bool) -> RankedRows:
    """The rows from position ``first`` up to ``last``; if ``numbered`` every copy has its own position,
    otherwise positions do not matter."""
    inside = np.minimum(found.place + found.weights, last) - np.maximum(found.place, first)
    taken = inside > 0
    batch, row, inside = found.batch[taken], found.row[taken], inside[taken]
    if not numbered:
        return RankedRows(batch, row, inside, np.zeros(len(row), np.int64))
    nth = np.arange(inside.sum()) - np.repeat(np.cumsum(inside) - inside, inside)
    place = np.repeat(np.maximum(found.place[taken], first), inside) + nth
    return RankedRows(np.repeat(batch, inside), np.repeat(row, inside), np.ones(len(place), np.int64), place)
