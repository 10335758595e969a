"""ORDER BY … LIMIT and OFFSET: the rows at certain positions of their key's order.

All rows are kept in one ordered arrangement; a step finds the positions of the first rows of the keys it
touches, before and after it, and reads those that differ. Rows beyond the limit are never read. With an
OFFSET alone, the output is the change itself except for the rows that the offset skips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering, distinct_keys
from penstock.circuit.ranked_rows import RankedRows, within
from penstock.trace import Batch, Prefix, gather_rows, lookup_prefix
from penstock.trace.order import IMAGE
from penstock.zset import ZSet, hash_columns

__all__ = ["TopK"]


@operator("top k", Incremental.GROUPS, state="rows per key, in order")
@dataclass(frozen=True)
class TopK(Operator):
    """For each key the rows from position ``offset`` (counted from 0), ``limit`` of them or all.

    The input is indexed by the key, which is empty for a plain LIMIT. The last ``numbers`` columns of the
    output are not the input's: they hold the row's number, counted from 1.
    """

    ordering: Ordering
    offset: int
    limit: int | None
    numbers: int = 0

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        if len(delta) == 0:
            return self.nothing
        apart = hash_columns(delta.zset.columns, len(delta), state.seed)
        batch = self.ordering.batch(delta, apart, whole=False)
        before = state.before(0)
        state.stage(0, batch)
        keys = distinct_keys(delta.index)
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
        """The positions within the limit, or without one, those that the offset skips."""
        return (0, self.offset) if self.limit is None else (self.offset, self.offset + self.limit)

    def changed(self, batches: Sequence[Batch], old: Prefix, new: Prefix) -> ZSet:
        """The rows within the range after this step, minus those within it before."""
        first, last = self._places
        numbered = self.numbers > 0
        rows = within(new, first, last, numbered=numbered).minus(within(old, first, last, numbered=numbered))
        if len(rows.row) == 0:
            return ZSet.empty(self.schema)
        return self.answers(gather_rows(batches, rows.batch, rows.row, 1), rows)

    def answers(self, columns: Sequence[pa.Array], rows: RankedRows) -> ZSet:
        """Rows with their columns, and with their numbers if requested."""
        number = pa.array((rows.place + 1).astype(np.int32))
        return ZSet(self.schema, (*columns, *(number,) * self.numbers), rows.weights)

    def identity(self) -> str:
        return f"{super().identity()}; ordered by the sort key of the ORDER BY alone; {IMAGE}"

    def describe(self) -> str:
        limit = "" if self.limit is None else f" limit {self.limit}"
        offset = f" offset {self.offset}" if self.offset else ""
        numbered = ", numbered" if self.numbers else ""
        return f"by {self.ordering.text(self.schema.names)}{limit}{offset}{numbered}"
