"""The keys of a batch: how many there are, and a sample of them.

A key is the bits of the order word that belong to it (:func:`.scan.key_bits`) and its second lane ``key_lo``.
The rows of a key are neighbours, except that two keys whose hashes agree in those bits, once in four billion
keys, have their rows mixed. Everything here is exact nevertheless.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.trace.batch import Batch, Words
from penstock.trace.scan import PIECE, key_bits, position_after, position_of_word
from penstock.zset import Hashes

__all__ = ["Runs", "key_count", "runs_by_key", "sample_keys"]

Indices = NDArray[np.int64]

_DRAWN = 4
"""Rows drawn for each key of a sample, and how many times more when they were too few."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows grouped by key, in the order of (word, lane). ``starts`` has the first row of each key, and behind
    them the number of rows. If rows of different keys were mixed, ``order`` has the rows in the order that
    ``starts`` refers to."""

    starts: Indices
    order: Indices | None

    def __len__(self) -> int:
        return len(self.starts) - 1


def runs_by_key(words: Words, lanes: Words) -> Runs:
    """Groups rows by the words of their keys, which are sorted, and second lanes."""
    if len(words) == 0:
        return Runs(np.zeros(1, np.int64), None)
    order = None
    other_word = words[1:] != words[:-1]
    other_lane = lanes[1:] != lanes[:-1]
    if np.any(other_lane & ~other_word):
        order = np.lexsort((lanes, words))  # stable: rows of one key stay in order
        lanes, words = lanes[order], words[order]
        other_word, other_lane = words[1:] != words[:-1], lanes[1:] != lanes[:-1]
    inner = np.flatnonzero(other_word | other_lane) + 1
    return Runs(np.concatenate(([0], inner, [len(words)])), order)


def key_count(batch: Batch) -> int:
    """The number of keys. One pass over the words, on first use; nothing else is read."""
    if "key count" not in batch.memo:
        batch.memo["key count"] = _counted(batch)
    count: int = batch.memo["key count"]
    return count


def _counted(batch: Batch) -> int:
    mask, count, start = key_bits(batch), 0, 0
    while start < len(batch):
        stop = min(start + PIECE, len(batch))
        batch.need_rows(np.arange(start, stop), only_words=True)
        if stop < len(batch):  # up to the last row of the last key
            stop = position_after(batch, int(batch.order[stop - 1] | ~mask))
            batch.need_rows(np.arange(start, stop), only_words=True)
        count += len(runs_by_key(batch.order[start:stop] & mask, batch.key_lo[start:stop]))
        start = stop
    return count


def sample_keys(batch: Batch, size: int, rng: np.random.Generator) -> Hashes:
    """So many different keys, all equally likely, in order; all keys if there are not more. ``hi`` has the
    bits of the order word that belong to the key.

    Rows are drawn at random, and those that are the first of their key are kept: each key has exactly one. If
    too few are left, more rows are drawn. Cost: about as many rows as the average key has, times ``size``."""
    drawn = _DRAWN * size
    while True:
        if drawn >= len(batch):
            rows = rng.permutation(len(batch))
        else:
            rows = rng.choice(len(batch), drawn, replace=False)
        rows = rows[_are_first(batch, rows)]
        if len(rows) >= size or drawn >= len(batch):
            break
        drawn *= _DRAWN
    rows = rows[:size]
    words, lanes = batch.order[rows] & key_bits(batch), batch.key_lo[rows]
    perm = np.lexsort((lanes, words))
    return Hashes(words[perm], lanes[perm])


def _are_first(batch: Batch, rows: Indices) -> NDArray[np.bool_]:
    """Which of the rows have no row of the same key before them."""
    mask = key_bits(batch)
    before = np.maximum(rows - 1, 0)
    batch.need_rows(np.concatenate((rows, before)), only_words=True)
    alone: NDArray[np.bool_] = (rows == 0) | ((batch.order[before] & mask) != (batch.order[rows] & mask))
    mixed = np.flatnonzero(~alone & (batch.key_lo[before] != batch.key_lo[rows]))
    for each in mixed.tolist():  # another key is before it: look at all rows with this word
        row = int(rows[each])
        start = position_of_word(batch, int(batch.order[row] & mask))
        batch.need_rows(np.arange(start, row), only_words=True)
        alone[each] = not np.any(batch.key_lo[start:row] == batch.key_lo[row])
    return alone
