"""Input tables: turns pushed operations into the change of a table, and keeps the table.

A *keyed* table takes upserts and deletes by key: it looks the old row up and emits ``- old + new``. A
*keyless* table is a multiset: it takes rows with weights and refuses to delete rows it does not hold. Both
keep their rows arranged by key (a keyless table: by the row itself), so a join on the key can share the
arrangement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.arranging import Arranging
from penstock.circuit.delta import Arranged, Delta, delta_of
from penstock.circuit.keyed import add_weights, final_rows, first_of_keys
from penstock.circuit.operator import Flow, Incremental, State, WordsOf, operator
from penstock.errors import DuplicateKey, MissingRow
from penstock.trace import (
    Batch,
    KeyWords,
    build_batch,
    lookup_rows,
    lookup_sums,
    order_words,
    sum_of,
)
from penstock.zset import Hashes, HashSeed, gather, hash_columns, numbers

__all__ = ["Table"]


@operator("table", Incremental.SOURCE, state="the table's rows, by key")
@dataclass(frozen=True)
class Table(Arranging):
    """Table ``name``; ``key`` are the positions of its primary key, empty for a keyless table.

    The input holds the pushed rows in push order, each with the hash of its key (or of itself), and for a
    keyed table with its operation.
    """

    name: str
    key: tuple[int, ...]

    @property
    def routing(self) -> tuple[int, ...] | None:
        """The columns that assign pushed rows to workers: the key, or all of them."""
        return self.key or tuple(range(len(self.schema)))

    @property
    def opens(self) -> bool:
        return True

    @property
    def rows_apart(self) -> bool:
        return bool(self.key)  # a keyless table is arranged by the row itself

    def step(self, inputs: Sequence[Flow], state: State) -> Arranged:
        if state.opening:
            return self.contents(state.stored(0))
        delta = delta_of(inputs[0])
        batch = self._apply_keyed(delta, state) if self.key else self._apply_multiset(delta, state)
        state.stage(0, batch)
        return Arranged(self.schema, batch, state.before(0))

    def _apply_multiset(self, delta: Delta, state: State) -> Batch:
        zset = delta.zset
        batch = build_batch(delta.index.hi, delta.index.lo, None, zset.weights, zset.columns)
        less = np.flatnonzero(batch.weights < 0)
        if len(less):
            rows = Hashes(batch.order[less], batch.key_lo[less])
            held, _ = lookup_sums(state.before(0), rows)
            missing = np.flatnonzero(held + batch.weights[less] < 0)
            if len(missing):
                first = missing[0]
                raise MissingRow(self.name, int(rows.hi[first]), int(rows.lo[first]))
        return batch

    def _apply_keyed(self, delta: Delta, state: State) -> Batch:
        keys, zset = delta.index, delta.zset
        assert delta.operations is not None
        perm = np.lexsort((keys.lo, keys.hi))  # stable: operations on one key stay in push order
        start = np.empty(len(perm), np.int64)
        start = start[: first_of_keys(perm, keys.hi, keys.lo, start)]
        held, old = self._held(keys.take(perm[start]), state)
        final, outcome = np.empty(len(start), np.int64), np.empty(2, np.int64)
        final = final[: final_rows(perm, start, delta.operations, held, final, outcome)]
        absent, clash = outcome.tolist()
        if clash >= 0:
            raise DuplicateKey(self.name, int(keys.hi[clash]), int(keys.lo[clash]))
        state.count(f"absent_keys:{self.name}", absent)
        if len(final) < len(zset):
            zset, keys = zset.take(final), keys.take(final)
        row = hash_columns(zset.columns, len(zset), state.seed)
        parts = [
            Batch(order_words(keys, row), keys.lo, row.lo, np.ones(len(zset), np.int64), zset.columns),
            *old,
        ]
        return sum_of(parts)

    def _held(self, keys: Hashes, state: State) -> tuple[NDArray[np.bool_], list[Batch]]:
        """Which keys the table holds, and the rows to retract, with negated weights and unordered.

        Batches cancel out across the spine, so both are sums: a key exists if its weights sum to one."""
        total = np.zeros(len(keys), np.int64)
        retract: list[Batch] = []
        for found in lookup_rows(state.before(0), keys):
            batch, row = found.batch, found.row
            add_weights(found.probe, row, batch.weights, total)
            assert batch.row_lo is not None
            index = numbers(row)
            retract.append(
                Batch(
                    batch.order[row],
                    batch.key_lo[row],
                    batch.row_lo[row],
                    -batch.weights[row],
                    tuple(gather(column, index) for column in batch.values),
                )
            )
        return total > 0, retract

    @property
    def words(self) -> WordsOf:
        return self._words

    def _words(self, values: Sequence[pa.Array], length: int, seed: HashSeed) -> KeyWords:
        row = hash_columns(values, length, seed)
        if not self.key:
            return row.hi, row.lo, None
        keys = hash_columns([values[i] for i in self.key], length, seed)
        return order_words(keys, row), keys.lo, row.lo

    def describe(self) -> str:
        if not self.key:
            return self.name
        return f"{self.name} by {', '.join(self.schema.names[i] for i in self.key)}"
