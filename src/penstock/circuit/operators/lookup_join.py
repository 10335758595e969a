"""Inner join with static input: rows are looked up as they come, and not stored.

Only one term of the product rule remains. ``Δl ⋈ r`` is all that ever changes: when ``r`` changed, ``l`` was
still empty, and rows of both that come in one step are joined because ``r`` is taken including its change. So
the changing side needs no arrangement: nothing of it is sorted, stored or made durable.

Cost: a lookup for each row that comes. If each row finds exactly one match, its columns are passed on without
a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, arranged_of, delta_of
from penstock.circuit.matching import looked_up
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.join import Join
from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["LookupJoin"]


@operator("lookup join", Incremental.LINEAR)
@dataclass(frozen=True)
class LookupJoin(Join):
    """As :class:`Join`, but the left input moves and is only indexed by its key; the right one stands still
    and is arranged by its own."""

    def is_insert_only(self, inputs: Sequence[bool]) -> bool:
        return inputs[0]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        moving, static = delta_of(inputs[0]), arranged_of(inputs[1])
        keys, zset = moving.index, moving.zset
        # Only read through, so it need not be sorted as other batches are.
        arrival_batch = Batch(keys.hi, keys.lo, None, zset.weights, zset.columns)
        pairs = looked_up(arrival_batch, keys, static, self.condition, lambda: zset.hashes(state.seed).lo)
        return Delta(ZSet.concat(self.schema, [self.emit(part) for part in pairs]))
