"""The end of a view whose rows never go: one over append-only tables, through linear operators and joins.

Nothing that arrives here takes anything back, so the rows are kept as they come. Equal rows stand apart until
somebody reads the view, which sums them up anyway over the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.view import View
from penstock.circuit.spelling import spelled
from penstock.circuit.unsorted import FAN, as_they_come
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

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = spelled(delta_of(inputs[0]).zset)
        state.stage(0, as_they_come(zset))
        return Delta(ZSet(self.schema, zset.columns, zset.weights))
