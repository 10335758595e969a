"""The value of a scalar subquery: exactly one row, of NULLs if the subquery has none.

More than one row is an error, as in Spark, and an error aborts the step, so the state is never more than the
one row. Cost: the change of the subquery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.matching import too_many_rows
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch, build_batch, merge_batches, order_words
from penstock.zset import Hashes, ZSet, hash_columns

__all__ = ["SingleRow"]


@operator("single row", Incremental.GROUPS, state="the row")
@dataclass(frozen=True)
class SingleRow(Operator):
    """The input is indexed by the empty key, so that all of it is on one worker; that worker always has one
    row."""

    @property
    def opens(self) -> bool:
        return True

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        nowhere = hash_columns([], 1, state.seed)
        if state.opening and not state.owns(nowhere):
            return self.nothing
        change = _arranged(delta, nowhere, state)
        before = [*state.before(0)]
        state.stage(0, change)
        now = self._row([*before, change])
        if state.opening:
            return Delta(now)
        return Delta(ZSet.concat(self.schema, [self._row(before).negate(), now]).consolidate(state.seed))

    def _row(self, batches: Sequence[Batch]) -> ZSet:
        """The one row that batches sum up to, or NULLs."""
        batch = merge_batches(batches) if batches else None
        if batch is None or len(batch) == 0:
            nulls = tuple(pa.nulls(1, kind) for kind in self.schema.types)
            return ZSet(self.schema, nulls, np.ones(1, np.int64))
        if int(batch.weights.sum()) > 1:
            raise too_many_rows()
        return ZSet(self.schema, batch.values, batch.weights)

    def describe(self) -> str:
        return "NULL if there is none"


def _arranged(delta: Delta, key: Hashes, state: State) -> Batch:
    zset = delta.zset
    row = hash_columns(zset.columns, len(zset), state.seed)
    keys = Hashes(np.repeat(key.hi, len(zset)), np.repeat(key.lo, len(zset)))
    return build_batch(order_words(keys, row), keys.lo, row.lo, zset.weights, zset.columns)
