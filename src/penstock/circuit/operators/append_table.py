"""Append-only tables: rows come and never go, so nothing has to be found again.

A row needs no identity here: no hashing, no sorting, no exchange. The rows are kept, because views created
later are filled from them, and a check recomputes from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.passing_table import PassingTable
from penstock.circuit.unsorted import FAN, as_they_come
from penstock.zset import ZSet

__all__ = ["AppendTable"]


@operator("append-only table", Incremental.SOURCE, state="the table's rows")
@dataclass(frozen=True)
class AppendTable(PassingTable):
    """The same as :class:`PassingTable`, with the rows that came before."""

    @property
    def opens(self) -> bool:
        return True

    @property
    def fan(self) -> int:
        return FAN

    @property
    def slots(self) -> int:
        return 1

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        if state.opening:
            parts = [ZSet(self.schema, batch.values, batch.weights) for batch in state.stored(0)]
            return Delta(ZSet.concat(self.schema, parts))
        delta = inputs[0]
        assert isinstance(delta, Delta)
        state.stage(0, as_they_come(delta.zset))
        return Delta(delta.zset)
