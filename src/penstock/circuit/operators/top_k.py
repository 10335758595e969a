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

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering, distinct_keys
from penstock.circuit.placed import Placed, within
from penstock.trace import Batch, Prefix, gather_rows, lookup_prefix
from penstock.trace.order import IMAGE
from penstock.zset import ZSet, hash_columns

__all__ = ["TopK"]


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
        apart = hash_columns(delta.zset.columns, len(delta), state.seed)
        batch = self.ordering.batch(delta, apart, whole=False)
        before = state.before(0)
        state.stage(0, batch)
        keys = distinct_keys(delta.keys)
        batches = [*before, batch]
        _, last = self._places
        old, new = lookup_prefix(before, keys, last), lookup_prefix(batches, keys, last)
        state.count("rows read", len(old.probe) + len(new.probe))
        rows = self.changed(batches, old, new)
        if self.limit is None:
            rows = rows.negate().add(ZSet(self.schema, batch.values[1:], batch.weights))
        return Delta(rows)

    @property
    def _places(self) -> tuple[int, int]:
        """The places within the limit, or without one, those that the offset skips."""
        return (0, self.offset) if self.limit is None else (self.offset, self.offset + self.limit)

    def changed(self, batches: Sequence[Batch], old: Prefix, new: Prefix) -> ZSet:
        """The rows that are at their places since this step, without those that were."""
        first, last = self._places
        numbered = self.numbers > 0
        rows = within(new, first, last, numbered=numbered).minus(within(old, first, last, numbered=numbered))
        if len(rows.row) == 0:
            return ZSet.empty(self.schema)
        return self.answers(gather_rows(batches, rows.batch, rows.row, 1), rows)

    def answers(self, columns: Sequence[pa.Array], rows: Placed) -> ZSet:
        """Rows with their columns, and with their places where these are asked for."""
        number = pa.array((rows.place + 1).astype(np.int32))
        return ZSet(self.schema, (*columns, *(number,) * self.numbers), rows.weights)

    def identity(self) -> str:
        return f"{super().identity()}; ordered by the sort key of the ORDER BY alone; {IMAGE}"

    def describe(self) -> str:
        limit = "" if self.limit is None else f" limit {self.limit}"
        offset = f" offset {self.offset}" if self.offset else ""
        numbered = ", numbered" if self.numbers else ""
        return f"by {self.ordering}{limit}{offset}{numbered}"
