"""Inner join of rows with what stands still: they are looked up as they come, and then forgotten.

Of the product rule one term is left. ``Δl ⋈ r`` is all that ever changes: when ``r`` changed, there was no
``l`` yet, and rows of both that come in one step meet because ``r`` is taken with its change. So the moving
side needs no arrangement: nothing of it is sorted, kept or made durable.

Cost: a lookup for each row that comes. Where each finds exactly one, its columns are handed on as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.matching import PairColumns, Pairs, looked_up
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.nodes import Expr
from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["LookupJoin"]


@operator("lookup join", Incremental.LINEAR)
@dataclass(frozen=True)
class LookupJoin(Operator):
    """The first input moves and is indexed by its key, the second stands still and is arranged by its own.
    Columns are numbered in that order: ``condition`` is bound to these numbers, ``keep`` lists those of the
    output."""

    condition: Expr | None
    keep: tuple[int, ...]

    def grows(self, inputs: Sequence[bool]) -> bool:
        return inputs[0]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        moving, standing = inputs
        assert isinstance(moving, Delta) and isinstance(standing, Arranged) and moving.keys is not None
        keys, zset = moving.keys, moving.zset
        # Only read through, so it need not be sorted as other batches are.
        as_they_come = Batch(keys.hi, keys.lo, None, zset.weights, zset.columns)
        pairs = looked_up(as_they_come, keys, standing, self.condition, lambda: zset.hashes(state.seed).lo)
        return Delta(ZSet.concat(self.schema, [self._emit(part) for part in pairs]))

    def _emit(self, pairs: Pairs) -> ZSet:
        columns = PairColumns(pairs)
        return ZSet(self.schema, tuple(columns[i] for i in self.keep), pairs.weights)

    def describe(self) -> str:
        return "" if self.condition is None else f"where {self.condition}"
