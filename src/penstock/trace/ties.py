"""Breaks ties: the order of two rows of a key whose sort values are equal.

The other values decide, from the first to the last, ascending and NULL first. A batch stores no key for that:
rows that differ but tie are few, and their values are compared when it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.comparable_words import comparable_words
from penstock.trace.order import Ordered, dense_rank
from penstock.trace.search import expand
from penstock.trace.sort_key import Direction, sort_key
from penstock.trace.sorting import order_of, same_as_before
from penstock.zset import gather, numbers

__all__ = ["break_ties", "tie_order"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Numbers = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.bool_]

_PLAIN = Direction()


def tie_order(
    by: Sequence[Numbers],
    row_lo: Words,
    others: Callable[[Indices], Sequence[pa.Array]],
    times: Words | None = None,
) -> Indices:
    """The order of rows by the first of ``by``, then the second and so on, then by their other values; equal
    rows (those with the same ``row_lo``) adjacent, and by time if there are ``times``. ``others`` returns the
    other values of some rows. Numbers are nonnegative. Works best if the rows consist of a few sorted runs.
    """
    last = (row_lo,) if times is None else (row_lo, times)
    perm = order_of((*by, *last))
    tied = same_as_before(by, perm)
    if not np.any(tied & (row_lo[perm[1:]] != row_lo[perm[:-1]])):
        return perm
    members = np.concatenate((tied, [False])) | np.concatenate(([False], tied))
    rows = np.sort(perm[members])
    columns = others(rows)
    rank = np.zeros(len(perm), np.int64)
    if columns:
        rank[rows] = dense_rank(sort_key([(c, _PLAIN) for c in columns], len(rows)), descending=False)
    return order_of((*by, rank, *last))


def break_ties(
    perm: Indices,
    order: Words,
    key_lo: Words,
    row_lo: Words | None,
    values: Sequence[pa.Array],
    ordered: Ordered,
    runs: Sequence[int],
    within: Words | None = None,
    times: Words | None = None,
) -> None:
    """Sorts the rows that share their word, in place: by value if ordered (then by the other values),
    otherwise by the words ``within`` if there are any, with equal rows adjacent. ``perm`` sorts the rows by
    word, and preserves existing order if there are ``runs``: the starts of sorted runs."""
    word = order[perm]
    rows = _mixed(word, perm, runs) if runs else _sharing(word)
    if len(rows) == 0:
        return
    candidates = perm[rows]
    if ordered and row_lo is not None:
        exact = comparable_words(gather(values[0], numbers(candidates)), descending=ordered == "descending")
        inner = tie_order(
            [word[rows], *exact, key_lo[candidates]],
            row_lo[candidates],
            lambda some: [gather(column, numbers(candidates[some])) for column in values[1:]],
            None if times is None else times[candidates],
        )
    else:
        lanes = [lane for lane in (within, key_lo, row_lo, times) if lane is not None]
        inner = order_of([word[rows], *(lane[candidates] for lane in lanes)])
    perm[rows] = candidates[inner]


def _sharing(word: Words) -> Indices:
    """The rows that share their word with another row."""
    tied = word[1:] == word[:-1]
    return np.flatnonzero(np.concatenate(([False], tied)) | np.concatenate((tied, [False])))


def _mixed(word: Words, perm: Indices, runs: Sequence[int]) -> Indices:
    """Those of them that come from more than one run: rows of one run keep their order."""
    tied = word[1:] == word[:-1]
    at = np.flatnonzero(tied)
    joints: Indices = at[(perm[at + 1] != perm[at] + 1) | np.isin(perm[at + 1], runs)]
    if len(joints) == 0:
        return joints
    ends = np.flatnonzero(np.concatenate((~tied, [True])))
    group = np.unique(np.searchsorted(ends, joints))
    start = np.concatenate(([-1], ends))[group] + 1
    return expand(start, ends[group] + 1 - start)[1]
