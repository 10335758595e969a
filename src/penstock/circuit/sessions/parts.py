"""The parts of each key's time that a step changes.

A *part* is a stretch of one key's time: changed rows, inserted or deleted, whose intervals touch, and the
earlier sessions that these touch. Nothing outside touches it, before the step or after, so each part can be
processed independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.circuit.sessions.book import SessionBook
from penstock.circuit.sessions.intervals import Intervals, moment_words, united
from penstock.trace import Batch
from penstock.trace.batch import HIGH
from penstock.trace.sorting import order_of, same_as_before
from penstock.zset import Hashes

__all__ = ["Parts", "parts_of"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """``keys`` and ``stretches`` of the parts, the part ``of_row`` of each changed row, which parts ``lose``
    a row without replacement, and the ``old`` sessions in them, whose owners are parts."""

    keys: Hashes
    stretches: Intervals
    of_row: Indices
    lose: NDArray[np.bool_]
    old: Intervals


def parts_of(batch: Batch, start: Indices, end: Indices, book: SessionBook) -> Parts:
    """The parts that the rows of ``batch`` change; each row covers the time from ``start`` to ``end``. The
    rows of each key are sorted by start."""
    high, low = batch.order & HIGH, batch.key_lo
    order = np.arange(len(batch))
    fresh = np.concatenate(([True], ~same_as_before((high, low), order)))
    if np.any(fresh[1:] & (high[1:] == high[:-1])):  # rows of several keys are mixed
        order = order_of((high, low, moment_words(start)))
        fresh = np.concatenate(([True], ~same_as_before((high, low), order)))
    owner = np.empty(len(batch), np.int64)
    owner[order] = np.cumsum(fresh) - 1
    firsts = order[fresh]
    keys = Hashes(high[firsts], low[firsts])
    there = Intervals(owner, start, end)
    changed, of_row = united(there, order)
    old = book.touched(keys.take(changed.owner), changed)
    stretches = changed
    if len(old):
        old = _each_once(Intervals(changed.owner[old.owner], old.start, old.end))
        stretches, part = united(Intervals.concat([changed, old]))
        of_row = part[of_row]
        old = Intervals(part[len(changed) :], old.start, old.end)
    lose = np.zeros(len(stretches), bool)
    lose[of_row[_fewer(batch.weights, there)]] = True
    return Parts(keys.take(stretches.owner), stretches, of_row, lose, old)


def _fewer(weights: Indices, there: Intervals) -> Indices:
    """The intervals of which there are fewer rows now. A row that changes only in other columns is not among
    them: it is deleted and inserted with the same interval, so nothing has to be read for it."""
    if not (weights < 0).any():
        return np.empty(0, np.int64)
    by = (there.owner, moment_words(there.start), moment_words(there.end))
    order = order_of(by)
    firsts = np.flatnonzero(np.concatenate(([True], ~same_as_before(by, order))))
    return order[firsts[np.add.reduceat(weights[order], firsts) < 0]]


def _each_once(sessions: Intervals) -> Intervals:
    """Without repetitions, which are adjacent."""
    same = (sessions.owner[1:] == sessions.owner[:-1]) & (sessions.start[1:] == sessions.start[:-1])
    return sessions.take(np.concatenate(([True], ~same)))
