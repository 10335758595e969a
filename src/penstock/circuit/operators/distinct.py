"""Distinct: each row once, if its weight is positive.

Non-linear, but a row's output changes only when its weight crosses zero, so the state is one weight per
row identity (no values: a row that changes is in the delta) and a step looks up the rows it touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch, build_batch, lookup_sums
from penstock.zset import Hashes, ZSet

__all__ = ["Distinct"]


@operator("distinct", Incremental.GROUPS, state="a weight per row")
@dataclass(frozen=True)
class Distinct(Operator):
    """The input must be indexed by all its columns."""

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        if len(delta) == 0:
            return self.nothing
        batch = build_batch(delta.index.hi, delta.index.lo, None, delta.zset.weights, delta.zset.columns)
        rows = Hashes(batch.order, batch.key_lo)
        old, _ = lookup_sums(state.before(0), rows)
        new = old + batch.weights
        change = (new > 0).astype(np.int64) - (old > 0).astype(np.int64)
        state.stage(0, Batch(batch.order, batch.key_lo, None, batch.weights))
        return Delta(ZSet(self.schema, batch.values, change).filter(change != 0), None)
