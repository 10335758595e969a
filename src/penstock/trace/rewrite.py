"""Batches made from a batch by changing it slice by slice: rows left out, times advanced.

A *rewrite* is a function from a slice of a batch to what shall be in its place. It sees whole words
(:mod:`.scan`) and keeps every word, so its results, concatenated, are again a batch, and it can be applied to
a batch of any size in bounded memory: by :func:`rewritten` to a batch in memory, or while batches are merged
into a file (:func:`.stored.merge_to_draft`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from penstock.trace import times
from penstock.trace.batch import Batch, merge_batches, sum_of
from penstock.trace.scan import PIECE, scan
from penstock.trace.times import Time

__all__ = [
    "Predicate",
    "Rewrite",
    "advance",
    "advancing",
    "retain",
    "retaining",
    "rewritten",
    "unchanged",
]

Rewrite = Callable[[Batch], Batch]
Predicate = Callable[[Batch], NDArray[np.bool_]]
"""Says for each row of a slice whether it stays."""


def unchanged(rows: Batch) -> Batch:
    """The rewrite that changes nothing."""
    return rows


def retaining(predicate: Predicate) -> Rewrite:
    """The rewrite that leaves out the rows for which the predicate is false."""

    def rewrite(rows: Batch) -> Batch:
        stays = predicate(rows)
        return rows if stays.all() else rows.take(np.flatnonzero(stays))

    return rewrite


def advancing(frontier: Sequence[Time]) -> Rewrite:
    """The rewrite that advances times to a frontier (:func:`.times.advance`) and sums what has become the
    same row. A reader at or after the frontier sees no difference."""

    def rewrite(rows: Batch) -> Batch:
        assert rows.times is not None
        advanced = times.advance(rows.times, frontier)
        if np.array_equal(advanced, rows.times):
            return rows
        return sum_of([replace(rows, times=advanced)])

    return rewrite


def rewritten(batch: Batch, rewrite: Rewrite, *, rows: int = PIECE) -> Batch:
    """What a rewrite makes of a batch, in memory; the batch itself if nothing changes."""
    results, changed = [batch.take(np.empty(0, np.int64))], False
    for each in scan(batch, rows=rows):
        result = rewrite(each)
        changed |= result is not each
        results.append(result)
    return merge_batches(results) if changed else batch


def retain(batch: Batch, predicate: Predicate) -> Batch:
    """The batch without the rows for which the predicate is false. It is asked slice by slice."""
    return rewritten(batch, retaining(predicate))


def advance(batch: Batch, frontier: Sequence[Time]) -> Batch:
    """The batch with its times advanced to a frontier, and consolidated."""
    return rewritten(batch, advancing(frontier))
