"""The sink of an insert-only view: one over append-only tables, through linear operators and inner joins.

Nothing that arrives here is ever retracted, so the rows are stored unsorted. Equal rows stay separate until
the view is read, which consolidates across workers anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.normalise import normalised
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.view import View
from penstock.circuit.unsorted import FAN, arrival_batch
from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["AppendView"]


@operator("append-only view", Incremental.SINK, state="the view's rows")
@dataclass(frozen=True)
class AppendView(View):
    """Keeps the rows that arrive for view ``name``."""

    @property
    def fan(self) -> int:
        return FAN

    @property
    def words(self) -> None:
        return None  # they are the first that came to hand

    def contents(self, stored: Sequence[Batch]) -> Delta:
        return Delta(
            ZSet.concat(
                self.schema,
                [ZSet(self.schema, b.values, b.weights) for b in (batch.whole() for batch in stored)],
            )
        )

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = normalised(delta_of(inputs[0]).zset)
        state.stage(0, arrival_batch(zset))
        return Delta(ZSet(self.schema, zset.columns, zset.weights))
