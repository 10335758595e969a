"""Append-only tables: rows come and never go, so nothing has to be found again.

A row needs no identity here: no hashing, no sorting, no exchange. The rows are kept, because views created
later are filled from them, and a check recomputes from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.unsorted import FAN, as_they_come
from penstock.zset import ZSet

__all__ = ["AppendTable"]


@operator("append-only table", Incremental.SOURCE, state="the table's rows")
@dataclass(frozen=True)
class AppendTable(Operator):
    """Table ``name``, which takes inserts only. Rows may be on any worker."""

    name: str

    @property
    def routing(self) -> tuple[int, ...] | None:
        """By which columns pushed rows find their worker: by none."""
        return None

    @property
    def grows(self) -> bool:
        return True

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

    def describe(self) -> str:
        return self.name
