"""Selection: the rows for which a predicate is true. Linear, so its incremental form is itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import Evaluator
from penstock.expr.nodes import Call, Column, Expr

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
        if self._present is not None and not any(zset.columns[i].null_count for i in self._present):
            return Delta(zset)
        (holds,) = self._evaluator(zset.columns, len(zset))
        mask = pc.fill_null(holds, False).to_numpy(zero_copy_only=False)
        return Delta(zset if mask.all() else zset.filter(mask))

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.predicate)

    @cached_property
    def _present(self) -> tuple[int, ...] | None:
        """The columns that must not be NULL, if the predicate asks for nothing else: Catalyst puts such a
        filter before every inner join, and most columns have no NULL."""
        return _required(self.predicate)

    def describe(self) -> str:
        return str(self.predicate)


def _required(predicate: Expr) -> tuple[int, ...] | None:
    columns: list[int] = []
    waiting = [predicate]
    while waiting:
        match waiting.pop():
            case Call(function="IsNotNull", args=(Column(ordinal=ordinal),)):
                columns.append(ordinal)
            case Call(function="And", args=(left, right)):
                waiting += (right, left)
            case _:
                return None
    return tuple(columns)
