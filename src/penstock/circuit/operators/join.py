"""Inner equi-join of two arrangements, with a residual condition. A join without keys is a cross join.

Bilinear: see :mod:`penstock.circuit.matching`. Only the columns that the condition or the output needs are
gathered. Cost: the pairs that the keys of the change bring together; without a condition, that is the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, arranged_of
from penstock.circuit.matching import PairColumns, Pairs, changed_pairs
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.nodes import Expr
from penstock.zset import ZSet

__all__ = ["Join"]


@operator("join", Incremental.BILINEAR)
@dataclass(frozen=True)
class Join(Operator):
    """The inputs are arranged by their keys. Columns are numbered left ones first, then right ones:
    ``condition`` is bound to these numbers, ``keep`` lists those that make the output."""

    condition: Expr | None
    keep: tuple[int, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        left, right = map(arranged_of, inputs)
        parts = [self.emit(pairs) for pairs in changed_pairs(left, right, self.condition)]
        return Delta(ZSet.concat(self.schema, parts))

    def emit(self, pairs: Pairs) -> ZSet:
        """The output rows of pairs."""
        columns = PairColumns(pairs)
        return ZSet(self.schema, tuple(columns[i] for i in self.keep), pairs.weights)

    def describe(self) -> str:
        return "" if self.condition is None else f"where {self.condition}"
