"""Sessions: assigns every row the start of the session that it belongs to.

A row covers the time from its start to its end, and the rows of a key whose intervals touch form one session.
A session is identified by its *start* alone: a later row that extends it changes nothing about the rows that
are already in it. Earlier rows are emitted again only if their session's start changes, because sessions were
merged or a deleted row split one.

State: the rows by key and start, and an index of the current sessions
(:mod:`penstock.circuit.sessions.book`). Cost: a lookup in the index for each stretch of changed rows; and the
rows of the sessions whose start changes, or that lose a row. Rows of other sessions, of the same key or not,
are never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.sessions import (
    IMAGE,
    Intervals,
    Parts,
    SessionBook,
    StretchRows,
    change_of,
    containing,
    moment_words,
    moments,
    parts_of,
    rows_between,
    time_words,
    united,
)
from penstock.expr.nodes import Expr
from penstock.trace import Batch, build_batch
from penstock.trace.sorting import order_of, same_as_before
from penstock.zset import ZSet, hash_columns, numbers

__all__ = ["Sessions"]

Indices = NDArray[np.int64]


@operator("sessions", Incremental.GROUPS, state="rows per key, by start, and the sessions of each key")
@dataclass(frozen=True)
class Sessions(Operator):
    """The input is indexed by key; ``start`` and ``end`` are over its columns, timestamps that are never
    NULL. The output is the input's columns and the start of the row's session."""

    start: Expr
    end: Expr

    @property
    def slots(self) -> int:
        return 2

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        batch = self._batch(delta, state)
        if len(batch) == 0:
            return self.nothing
        start, end = (moments(expr, batch.values, len(batch)) for expr in (self.start, self.end))
        parts = parts_of(batch, start, end, SessionBook(state.before(1)))
        reread = parts.lose[parts.old.owner] | (parts.old.start != parts.stretches.start[parts.old.owner])
        read = parts.old.take(reread)
        keys = parts.keys.take(read.owner)
        earlier = list(rows_between(state.before(0), keys, read, self.start)) if len(read) else []
        state.count("rows read", sum(map(len, earlier)))
        new = self._sessions(parts, batch, (start, end), read, earlier)
        state.stage(0, batch)
        state.stage(1, change_of(parts.keys, parts.old, new))
        session = containing(new, parts.of_row, start) if parts.lose.any() else parts.of_row
        changed = self._changed(batch, new, session)
        return Delta(ZSet.concat(self.schema, [changed, *self._moved(read, earlier, new)]))

    def _batch(self, delta: Delta, state: State) -> Batch:
        """The change by key and start, exactly by start if no other key is among a key's rows."""
        columns, length = delta.zset.columns, len(delta)
        start = moments(self.start, columns, length)
        row = hash_columns(columns, length, state.seed)
        words = (time_words(delta.index, start), delta.index.lo, row.lo)
        return build_batch(*words, delta.zset.weights, columns, within=moment_words(start))

    def _sessions(
        self,
        parts: Parts,
        batch: Batch,
        interval: tuple[Indices, Indices],
        read: Intervals,
        earlier: Sequence[StretchRows],
    ) -> Intervals:
        """The sessions in the parts after the step; their owners are the parts. A part that loses no row is
        one session, because its rows and its earlier sessions touch each other."""
        whole = np.flatnonzero(~parts.lose)
        intact = Intervals(whole, parts.stretches.start[whole], parts.stretches.end[whole])
        if len(whole) == len(parts.lose):
            return intact
        start, end = interval
        changed = np.flatnonzero(parts.lose[parts.of_row])
        pieces = [_Piece(batch, changed, Intervals(parts.of_row[changed], start[changed], end[changed]))]
        for rows in earlier:
            rows = rows.take(parts.lose[read.owner[rows.stretch]])
            its_end = moments(self.end, rows.columns, len(rows))
            pieces.append(
                _Piece(rows.batch, rows.row, Intervals(read.owner[rows.stretch], rows.start, its_end))
            )
        left, _ = united(_still_there(pieces))
        both = Intervals.concat([intact, left])
        return both.take(np.argsort(both.owner, kind="stable"))

    def _changed(self, batch: Batch, new: Intervals, session: Indices) -> ZSet:
        """The changed rows, with their current session start. A row without a session has been deleted and is
        retracted with its old session."""
        starts = self._starts(_starts_of(new, session))
        return ZSet(self.schema, (*batch.values, starts), batch.weights).filter(session >= 0)

    def _moved(self, read: Intervals, earlier: Sequence[StretchRows], new: Intervals) -> Iterator[ZSet]:
        """The earlier rows whose session has another start now, or is gone."""
        for rows in earlier:
            session = containing(new, read.owner[rows.stretch], rows.start)
            before, now = read.start[rows.stretch], _starts_of(new, session)
            moved = np.flatnonzero((session < 0) | (now != before))
            if len(moved) == 0:
                continue
            rows = rows.take(moved)
            columns = tuple(rows.columns)
            yield ZSet(self.schema, (*columns, self._starts(before[moved])), -rows.weights)
            there = ZSet(self.schema, (*columns, self._starts(now[moved])), rows.weights)
            yield there.filter(session[moved] >= 0)

    def _starts(self, starts: Indices) -> pa.Array:
        return numbers(starts).view(self.schema.types[-1])

    def identity(self) -> str:
        return f"{super().identity()}; {IMAGE}"

    def describe(self) -> str:
        return f"from {self.start} to {self.end}"


def _starts_of(sessions: Intervals, number: Indices) -> Indices:
    """The starts of the sessions with the given numbers; arbitrary for -1, which is none."""
    starts: Indices = np.append(sessions.start, 0)[number]
    return starts


@dataclass(frozen=True)
class _Piece:
    """Rows ``row`` of ``batch``, and their intervals; owners are parts."""

    batch: Batch
    row: Indices
    there: Intervals


def _still_there(pieces: Sequence[_Piece]) -> Intervals:
    """The intervals of the rows whose total weight is not zero."""
    every = Intervals.concat([piece.there for piece in pieces])
    word = np.concatenate([piece.batch.order[piece.row] for piece in pieces])
    lane = np.concatenate(
        [piece.batch.row_lo[piece.row] for piece in pieces if piece.batch.row_lo is not None]
    )
    weight = np.concatenate([piece.batch.weights[piece.row] for piece in pieces])
    by = (every.owner, word, lane)
    perm = order_of(by)
    firsts = np.flatnonzero(np.concatenate(([True], ~same_as_before(by, perm))))
    return every.take(perm[firsts[np.add.reduceat(weight[perm], firsts) > 0]])
