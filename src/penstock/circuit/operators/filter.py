"""Selection: the rows for which a predicate is true. Linear, so its incremental form is itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr

__all__ = ["Filter"]


@operator("filter", Incremental.LINEAR)
@dataclass(frozen=True)
class Filter(Operator):
    """Keeps rows whose ``predicate`` is true; NULL counts as false."""

    predicate: Expr

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        if len(zset) == 0:
            return Delta(zset)
        holds = evaluate(self.predicate, zset.columns, len(zset))
        mask = pc.fill_null(holds, False).to_numpy(zero_copy_only=False)
        return Delta(zset if mask.all() else zset.filter(mask))

    def describe(self) -> str:
        return str(self.predicate)
