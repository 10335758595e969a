"""Arrangement: the integral of an indexed stream, sorted by key, shared by every join that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.arranging import Arranging
from penstock.circuit.delta import Arranged, delta_of
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.trace import build_batch, order_words
from penstock.zset import Hashes, ZSet, hash_columns

__all__ = ["Arrange"]


@operator("arrange", Incremental.LINEAR, state="all rows, by key")
@dataclass(frozen=True)
class Arrange(Arranging):
    """Sorts the delta into a batch by key and keeps the batches of all steps."""

    def step(self, inputs: Sequence[Flow], state: State) -> Arranged:
        delta = delta_of(inputs[0])
        zset = delta.zset
        row = self.apart(zset, state)
        batch = build_batch(order_words(delta.index, row), delta.index.lo, row.lo, zset.weights, zset.columns)
        state.stage(0, batch)
        return Arranged(self.schema, batch, state.before(0))

    def apart(self, zset: ZSet, state: State) -> Hashes:
        """What distinguishes rows: equal rows, and only those, have the same value."""
        return hash_columns(zset.columns, len(zset), state.seed)
