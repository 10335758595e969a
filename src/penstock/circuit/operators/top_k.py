"""ORDER BY … LIMIT and OFFSET: the rows at certain places of their key's order.

All rows are kept in one ordered arrangement; a step looks where the first rows of the keys it touches lie,
before and after it, and reads those that differ. What lies behind the limit is never read. With an OFFSET
alone, what differs is the change itself but for the rows that the offset skips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
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

    The input is indexed by the key, which for a plain LIMIT is nothing at all. The last ``numbers`` columns
    of the output are not the input's: they hold the row's place, counted from 1.
    """

    ordering: Ordering
    offset: int
    limit: int | None
    numbers: int = 0

    @property
    def slots(self) -> int:
        return 1

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = inputs[0]
        assert isinstance(delta, Delta)
        if len(delta) == 0:
            return self.nothing
        assert delta.keys is not None
        batch = self.ordering.batch(delta, state.seed, whole=False)
        before = state.before(0)
        state.stage(0, batch)
        keys = distinct_keys(delta.keys)
        batches = [*before, batch]
        old, new = self._places(before, keys, state), self._places(batches, keys, state)
        changed = _difference(new, old)
        rows = ZSet.empty(self.schema)
        if len(changed.row):
            columns = gather_rows(batches, changed.batch, changed.row, 1)
            number = pa.array((changed.place + 1).astype(np.int32))
            rows = ZSet(self.schema, (*columns, *(number,) * self.numbers), changed.weights)
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
        batch, row, inside = found.batch[taken], found.row[taken], inside[taken]
        if not self.numbers:
            return _Places(batch, row, inside, np.zeros(len(row), np.int64))
        # Copies of a row are at places of their own.
        nth = np.arange(inside.sum()) - np.repeat(np.cumsum(inside) - inside, inside)
        place = np.repeat(np.maximum(found.place[taken], first), inside) + nth
        return _Places(np.repeat(batch, inside), np.repeat(row, inside), np.ones(len(place), np.int64), place)

    def identity(self) -> str:
        return f"{super().identity()}; ordered by the sort key of the ORDER BY alone"

    def describe(self) -> str:
        limit = "" if self.limit is None else f" limit {self.limit}"
        offset = f" offset {self.offset}" if self.offset else ""
        numbered = ", numbered" if self.numbers else ""
        return f"by {self.ordering}{limit}{offset}{numbered}"


@dataclass(frozen=True)
class _Places:
    """Rows by where they lie, and at which place they are if that matters."""

    batch: Indices
    row: Indices
    weights: Indices
    place: Indices


def _difference(new: _Places, old: _Places) -> _Places:
    """What is new without what is old: most rows are both, and need not be looked at."""
    batch, row, weights, place = (
        np.concatenate(parts)
        for parts in (
            (new.batch, old.batch),
            (new.row, old.row),
            (new.weights, -old.weights),
            (new.place, old.place),
        )
    )
    perm = np.lexsort((place, row, batch))
    differs = np.zeros(max(0, len(perm) - 1), bool)
    for column in (place, row, batch):
        differs |= column[perm[1:]] != column[perm[:-1]]
    starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(perm)), bool), differs)))
    total = np.add.reduceat(weights[perm], starts) if len(starts) else weights
    kept = perm[starts[total != 0]]
    return _Places(batch[kept], row[kept], total[total != 0], place[kept])
