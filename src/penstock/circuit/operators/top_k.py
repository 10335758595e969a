"""ORDER BY … LIMIT and OFFSET: the rows at certain places of their key's order.

All rows are kept in one ordered arrangement; a step reads the first rows of the keys it touches, before and
after it, and says what differs. What lies behind the limit is never read. With an OFFSET alone, what
differs is the change itself but for the rows that the offset skips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering, distinct_keys
from penstock.trace import Batch, lookup_prefix
from penstock.zset import Hashes, ZSet

__all__ = ["TopK"]


@operator("top k", Incremental.GROUPS, state="rows per key, in order")
@dataclass(frozen=True)
class TopK(Operator):
    """Of each key the rows from place ``offset`` (counted from 0) on, ``limit`` of them or all.

    The input is indexed by the key, which for a plain LIMIT is nothing at all.
    """

    ordering: Ordering
    offset: int
    limit: int | None

    @property
    def slots(self) -> int:
        return 1

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = inputs[0]
        assert isinstance(delta, Delta)
        if len(delta) == 0:
            return self.nothing
        assert delta.keys is not None
        batch = self.ordering.batch(delta, state.seed)
        before = state.before(0)
        state.stage(0, batch)
        keys = distinct_keys(delta.keys)
        old, new = self._rows(before, keys, state), self._rows([*before, batch], keys, state)
        parts = [old.negate(), new]
        if self.limit is None:
            parts = [old, new.negate(), ZSet(self.schema, batch.values[1:], batch.weights)]
        return Delta(ZSet.concat(self.schema, parts).consolidate(state.seed))

    def _rows(self, batches: Sequence[Batch], keys: Hashes, state: State) -> ZSet:
        """The rows within the limit, or without one, those that the offset skips."""
        first, last = (0, self.offset) if self.limit is None else (self.offset, self.offset + self.limit)
        found = lookup_prefix(batches, keys, last)
        if found is None:
            return ZSet.empty(self.schema)
        state.count("rows read", len(found.probe))
        inside = np.minimum(found.place + found.weights, last) - np.maximum(found.place, first)
        rows = ZSet(self.schema, found.values[1:], np.maximum(inside, 0))
        return rows.filter(inside > 0)

    def describe(self) -> str:
        limit = "" if self.limit is None else f" limit {self.limit}"
        offset = f" offset {self.offset}" if self.offset else ""
        return f"by {self.ordering}{limit}{offset}"
