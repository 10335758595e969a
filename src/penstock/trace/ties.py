"""Ties: which of two rows of a key comes first if the value that they are ordered by does not tell.

The other values do, from the first to the last, ascending and NULL first. A batch keeps no key for that: rows
that differ and yet are tied are few, and their values are compared when it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.order import exact_rank
from penstock.trace.sort_key import Direction, sort_key

__all__ = ["settled"]

Numbers = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.bool_]

_PLAIN = Direction()


def settled(
    by: Sequence[Numbers],
    row_lo: NDArray[np.uint64],
    others: Callable[[NDArray[np.int64]], Sequence[pa.Array]],
) -> NDArray[np.int64]:
    """The order of rows by the first of ``by``, then the second and so on, then by their other values; equal
    rows (those with the same ``row_lo``) side by side. ``others`` gives the other values of some rows."""
    keys = (*reversed(by[1:]), by[0])
    perm = np.lexsort((row_lo, *keys))
    tied = np.ones(max(0, len(perm) - 1), bool)
    for column in by:
        tied &= column[perm[1:]] == column[perm[:-1]]
    if not np.any(tied & (row_lo[perm[1:]] != row_lo[perm[:-1]])):
        return perm
    members = np.concatenate((tied, [False])) | np.concatenate(([False], tied))
    rows = np.sort(perm[members])
    columns = others(rows)
    rank = np.zeros(len(perm), np.int64)
    if columns:
        rank[rows] = exact_rank(sort_key([(c, _PLAIN) for c in columns], len(rows)), descending=False)
    return np.lexsort((row_lo, rank, *keys))
