"""Grouped aggregation: emits ``- old + new`` for the groups touched, if their answers changed.

Each input is the change of one *feed* (:mod:`penstock.circuit.feeds`), indexed by group; each feed keeps one
arrangement. The first feed's weight is the number of rows of a group, which decides whether the group exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.feeds import Answers, Feed, OrderedFeed, SumsFeed
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch, build_batch
from penstock.trace.order import IMAGE
from penstock.zset import Hashes, ZSet, concat, hash_columns, rows_differ

__all__ = ["Aggregate"]


@operator("aggregate", Incremental.GROUPS, state="totals per group, and values where a function needs them")
@dataclass(frozen=True)
class Aggregate(Operator):
    """The output is the group's key columns (``width`` of them) followed by one column per function.

    ``outputs`` says for each of those which function of which feed it is. With ``width`` zero there is
    exactly one group, which exists even when it has no rows.
    """

    width: int
    feeds: tuple[Feed, ...]
    outputs: tuple[tuple[int, int], ...]

    @property
    def opens(self) -> bool:
        return self.width == 0

    @property
    def slots(self) -> int:
        return len(self.feeds)

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        deltas = [*map(delta_of, inputs)]
        batches = [feed.batch(delta, state.seed) for feed, delta in zip(self.feeds, deltas, strict=True)]
        groups, columns = self._touched(deltas, batches[0], state)
        size = len(groups)
        if size == 0:
            return self.nothing
        counting = self.feeds[0]
        assert isinstance(counting, SumsFeed)
        first, rows, rows_after = counting.read(state.before(0), batches[0], groups)
        answers = [first]
        for slot, feed in enumerate(self.feeds[1:], 1):
            answers.append(feed.answers(state.before(slot), batches[slot], groups))
        for slot, (feed, batch) in enumerate(zip(self.feeds, batches, strict=True)):
            state.stage(slot, feed.stored(batch))
        had, has = rows > 0, rows_after > 0
        if self.width == 0:
            had, has = np.full(size, not state.opening), np.full(size, True)
        return Delta(self._emit(columns, answers, had, has, state))

    def _touched(
        self, deltas: Sequence[Delta], counted: Batch, state: State
    ) -> tuple[Hashes, tuple[pa.Array, ...]]:
        """The groups that occur in any input, each once, with their key columns."""
        if self.width == 0:
            group = hash_columns([], 1, state.seed)
            touched = state.owns(group) if state.opening else any(len(delta) for delta in deltas)
            return (group, ()) if touched else (Hashes(group.hi[:0], group.lo[:0]), ())
        others = [delta for delta in deltas[1:] if len(delta)]
        if not others:
            return Hashes(counted.order, counted.key_lo), counted.values
        parts = [deltas[0], *others] if len(deltas[0]) else others
        keys = Hashes.concat([part.index for part in parts])
        columns = [concat([part.zset.columns[i] for part in parts]) for i in range(self.width)]
        ones = np.ones(len(keys), np.int64)
        batch = build_batch(keys.hi, keys.lo, None, ones, columns)
        return Hashes(batch.order, batch.key_lo), batch.values

    def _emit(
        self,
        columns: tuple[pa.Array, ...],
        answers: Sequence[Answers],
        had: NDArray[np.bool_],
        has: NDArray[np.bool_],
        state: State,
    ) -> ZSet:
        old = [answers[feed].old[position] for feed, position in self.outputs]
        new = [answers[feed].new[position] for feed, position in self.outputs]
        differ = [(a, b) for a, b in zip(old, new, strict=True) if a is not b]
        changed = rows_differ([a for a, _ in differ], [b for _, b in differ], len(had), state.seed)
        changed |= had != has
        ones = np.ones(len(had), np.int64)
        retract = ZSet(self.schema, (*columns, *old), -ones).filter(had & changed)
        assert_ = ZSet(self.schema, (*columns, *new), ones).filter(has & changed)
        return ZSet.concat(self.schema, [retract, assert_])

    def identity(self) -> str:
        ordered = any(isinstance(feed, OrderedFeed) for feed in self.feeds)
        return f"{super().identity()}; {IMAGE}" if ordered else super().identity()

    def describe(self) -> str:
        return ", ".join(str(feed) for feed in self.feeds if str(feed)) or "groups"
