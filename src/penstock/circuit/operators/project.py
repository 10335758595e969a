"""Projection: one expression per output column. Linear, so its incremental form is itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import Evaluator
from penstock.expr.nodes import Expr, columns_read
from penstock.zset import ZSet

__all__ = ["Project"]


@operator("project", Incremental.LINEAR)
@dataclass(frozen=True)
class Project(Operator):
    """Evaluates ``exprs`` on every row; weights pass through."""

    exprs: tuple[Expr, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        if len(zset) == 0:
            return self.nothing
        return Delta(ZSet(self.schema, self._evaluator(zset.columns, len(zset)), zset.weights))

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(*self.exprs)

    @property
    def reads(self) -> frozenset[int]:
        return frozenset(columns_read(*self.exprs))

    def describe(self) -> str:
        return ", ".join(map(str, self.exprs))
