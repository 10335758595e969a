"""Append-only tables: rows are only inserted, so none has to be found again.

A row needs no identity here: no hashing, no sorting, no exchange. The rows are kept, because views created
later are filled from them, and ``verify`` recomputes from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.passing_table import PassingTable
from penstock.circuit.unsorted import FAN, arrival_batch
from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["AppendTable"]


@operator("append-only table", Incremental.SOURCE, state="the table's rows")
@dataclass(frozen=True)
class AppendTable(PassingTable):
    """The same as :class:`PassingTable`, but keeps its rows."""

    @property
    def opens(self) -> bool:
        return True

    @property
    def fan(self) -> int:
        return FAN

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        if state.opening:
            return self.contents(state.stored(0))
        delta = delta_of(inputs[0])
        state.stage(0, arrival_batch(delta.zset))
        return Delta(delta.zset)

    @property
    def readable(self) -> bool:
        return True

    def contents(self, stored: Sequence[Batch]) -> Delta:
        return Delta(
            ZSet.concat(
                self.schema,
                [ZSet(self.schema, b.values, b.weights) for b in (batch.whole() for batch in stored)],
            )
        )
