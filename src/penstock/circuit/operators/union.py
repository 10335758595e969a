"""UNION ALL: the sum of Z-sets. Linear in all inputs together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.zset import ZSet

__all__ = ["Union"]


@operator("union", Incremental.LINEAR)
@dataclass(frozen=True)
class Union(Operator):
    """Adds its inputs, whose columns have equal types."""

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        parts = [delta_of(flow).zset for flow in inputs]
        return Delta(ZSet.concat(self.schema, [part for part in parts if len(part)]))
