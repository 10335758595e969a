"""ORDER BY … LIMIT and OFFSET: the rows at certain places of their key's order.

All rows are kept in one ordered arrangement; a step looks where the first rows of the keys it touches lie,
before and after it, and reads those that differ. What lies behind the limit is never read. With an OFFSET
alone, what differs is the change itself but for the rows that the offset skips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering, distinct_keys
from penstock.trace import Batch, gather_rows, lookup_prefix
from penstock.zset import Hashes, ZSet

__all__ = ["TopK"]

Indices = NDArray[np.int64]


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
        batches = [*before, batch]
        old, new = self._places(before, keys, state), self._places(batches, keys, state)
        changed = _difference(new, old)
        rows = ZSet.empty(self.schema)
        if len(changed.row):
            rows = ZSet(self.schema, gather_rows(batches, changed.batch, changed.row, 1), changed.weights)
        if self.limit is None:
            rows = rows.negate().add(ZSet(self.schema, batch.values[1:], batch.weights))
        return Delta(rows)

    def _places(self, batches: Sequence[Batch], keys: Hashes, state: State) -> _Places:
        """The rows within the limit, or without one, those that the offset skips."""
        first, last = (0, self.offset) if self.limit is None else (self.offset, self.offset + self.limit)
        found = lookup_prefix(batches, keys, last)
        state.count("rows read", len(found.probe))
        inside = np.minimum(found.place + found.weights, last) - np.maximum(found.place, first)
        taken = inside > 0
        return _Places(found.batch[taken], found.row[taken], inside[taken])

    def describe(self) -> str:
        limit = "" if self.limit is None else f" limit {self.limit}"
        offset = f" offset {self.offset}" if self.offset else ""
        return f"by {self.ordering}{limit}{offset}"


@dataclass(frozen=True)
class _Places:
    """Rows by where they lie."""

    batch: Indices
    row: Indices
    weights: Indices


def _difference(new: _Places, old: _Places) -> _Places:
    """What is new without what is old: most rows are both, and need not be looked at."""
    batch = np.concatenate((new.batch, old.batch))
    row = np.concatenate((new.row, old.row))
    weights = np.concatenate((new.weights, -old.weights))
    perm = np.lexsort((row, batch))
    differs = (batch[perm][1:] != batch[perm][:-1]) | (row[perm][1:] != row[perm][:-1])
    starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(perm)), bool), differs)))
    total = np.add.reduceat(weights[perm], starts) if len(starts) else weights
    kept = perm[starts[total != 0]]
    return _Places(batch[kept], row[kept], total[total != 0])
