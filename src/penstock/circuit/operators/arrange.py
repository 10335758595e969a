"""Arrangement: the integral of an indexed stream, sorted by key, shared by every join that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch, build_batch, order_words
from penstock.zset import Hashes, ZSet, hash_columns

__all__ = ["Arrange"]


@operator("arrange", Incremental.LINEAR, state="all rows, by key")
@dataclass(frozen=True)
class Arrange(Operator):
    """Sorts the delta into a batch by key and keeps the batches of all steps."""

    @property
    def arranged(self) -> bool:
        return True

    @property
    def slots(self) -> int:
        return 1

    def idle(self, state: State) -> Arranged:
        return Arranged(self.schema, self._empty, state.before(0))

    def step(self, inputs: Sequence[Flow], state: State) -> Arranged:
        delta = inputs[0]
        assert isinstance(delta, Delta)
        assert delta.keys is not None
        zset = delta.zset
        row = self.apart(zset, state)
        batch = build_batch(order_words(delta.keys, row), delta.keys.lo, row.lo, zset.weights, zset.columns)
        state.stage(0, batch)
        return Arranged(self.schema, batch, state.before(0))

    def apart(self, zset: ZSet, state: State) -> Hashes:
        """What tells rows apart: equal rows, and only those, have the same."""
        return hash_columns(zset.columns, len(zset), state.seed)

    @cached_property
    def _empty(self) -> Batch:
        none = np.empty(0, np.uint64)
        return Batch(none, none, none, np.empty(0, np.int64), ZSet.empty(self.schema).columns)
