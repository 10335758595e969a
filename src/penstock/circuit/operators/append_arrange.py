"""Arrangement of rows that never go: nothing comes that a row would have to be found for to cancel it out.

So a row needs no hash of its own, which reads every letter of it; a number does that no other row has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.arrange import Arrange
from penstock.circuit.unsorted import own_numbers
from penstock.trace import build_batch, order_words

__all__ = ["AppendArrange"]


@operator("append-only arrange", Incremental.LINEAR, state="all rows, by key")
@dataclass(frozen=True)
class AppendArrange(Arrange):
    """The same as :class:`Arrange`, for an input that grows. Equal rows stand apart."""

    def step(self, inputs: Sequence[Flow], state: State) -> Arranged:
        delta = inputs[0]
        assert isinstance(delta, Delta) and delta.keys is not None
        row = own_numbers(len(delta))
        zset = delta.zset
        batch = build_batch(order_words(delta.keys, row), delta.keys.lo, row.lo, zset.weights, zset.columns)
        state.stage(0, batch)
        return Arranged(self.schema, batch, state.before(0))
