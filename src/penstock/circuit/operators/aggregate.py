"""Grouped aggregation: keeps accumulators per group and emits ``- old + new`` for the groups touched.

The first input brings partial sums (of the linear accumulators, and always the number of rows); each
further input brings the values of one ordered accumulator, indexed by group. State: one arrangement of
sums, one ordered arrangement per ordered accumulator. A step reads and writes the groups it touches and,
of an ordered one, the first few values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators import LinearAccumulator, OrderedAccumulator
from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch, build_batch, lookup_sums
from penstock.zset import Hashes, ZSet, hash_columns

__all__ = ["Aggregate"]

Sums = dict[str, NDArray[np.int64]]


@operator("aggregate", Incremental.GROUPS, state="sums per group; values per group in order for min and max")
@dataclass(frozen=True)
class Aggregate(Operator):
    """The output is the group's key columns (``width`` of them) followed by one column per accumulator.

    ``accumulators`` are in output order; linear ones find their sums under their position among the
    linear ones, ordered ones are fed by the inputs after the first, in order. With ``width`` zero there is
    exactly one group, which exists even when it has no rows.
    """

    width: int
    accumulators: tuple[LinearAccumulator | OrderedAccumulator, ...]

    @property
    def opens(self) -> bool:
        return self.width == 0

    @property
    def slots(self) -> int:
        return 1 + len(self._ordered)

    @property
    def _ordered(self) -> list[OrderedAccumulator]:
        return [a for a in self.accumulators if isinstance(a, OrderedAccumulator)]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        deltas = [flow for flow in inputs if isinstance(flow, Delta)]
        groups, columns = self._touched(deltas, state)
        size = len(groups)
        if size == 0:
            return Delta.empty(self.schema)
        partial = self._batch_of_sums(deltas[0])
        old_rows, old_sums = lookup_sums(state.before(0), groups)
        new_rows, new_sums = lookup_sums([*state.before(0), partial], groups)
        state.stage(0, partial)
        old: list[pa.Array] = []
        new: list[pa.Array] = []
        linear = ordered = 0
        for accumulator in self.accumulators:
            if isinstance(accumulator, OrderedAccumulator):
                batch = accumulator.batch(deltas[1 + ordered], state.seed)
                before = state.before(1 + ordered)
                old.append(accumulator.result(before, groups))
                new.append(accumulator.result([*before, batch], groups))
                state.stage(1 + ordered, batch)
                ordered += 1
            else:
                old.append(accumulator.result(old_rows, _of(old_sums, linear)))
                new.append(accumulator.result(new_rows, _of(new_sums, linear)))
                linear += 1
        had, has = old_rows > 0, new_rows > 0
        if self.width == 0:
            had, has = np.full(size, not state.opening), np.full(size, True)
        return Delta(self._emit(columns, old, new, had, has, state))

    def _touched(self, deltas: Sequence[Delta], state: State) -> tuple[Hashes, tuple[pa.Array, ...]]:
        """The groups that any input mentions, each once, with their key columns."""
        if self.width == 0:
            group = hash_columns([], 1, state.seed)
            touched = state.owns(group) if state.opening else any(len(delta) for delta in deltas)
            return (group, ()) if touched else (Hashes(group.hi[:0], group.lo[:0]), ())
        parts = [delta for delta in deltas if len(delta)]
        if not parts:
            none = np.empty(0, np.uint64)
            return Hashes(none, none), ()
        keys = Hashes.concat([part.keys for part in parts if part.keys is not None])
        columns = [pa.concat_arrays([part.zset.columns[i] for part in parts]) for i in range(self.width)]
        ones = np.ones(len(keys), np.int64)
        batch = build_batch(keys.hi, keys.lo, None, ones, columns)
        return Hashes(batch.order, batch.key_lo), batch.values

    def _batch_of_sums(self, delta: Delta) -> Batch:
        assert delta.keys is not None
        return build_batch(delta.keys.hi, delta.keys.lo, None, delta.zset.weights, (), delta.sums)

    def _emit(
        self,
        columns: tuple[pa.Array, ...],
        old: list[pa.Array],
        new: list[pa.Array],
        had: NDArray[np.bool_],
        has: NDArray[np.bool_],
        state: State,
    ) -> ZSet:
        was = hash_columns(old, len(had), state.seed)
        now = hash_columns(new, len(had), state.seed)
        changed = (had != has) | (was.hi != now.hi) | (was.lo != now.lo)
        ones = np.ones(len(had), np.int64)
        retract = ZSet(self.schema, (*columns, *old), -ones).filter(had & changed)
        assert_ = ZSet(self.schema, (*columns, *new), ones).filter(has & changed)
        return ZSet.concat(self.schema, [retract, assert_])

    def describe(self) -> str:
        return ", ".join(map(str, self.accumulators)) or "groups"


def _of(sums: Sums, position: int) -> Sums:
    """The sums of one linear accumulator, by their own names."""
    prefix = f"{position}."
    return {name.removeprefix(prefix): total for name, total in sums.items() if name.startswith(prefix)}
