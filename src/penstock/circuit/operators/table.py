"""Input tables: turns what producers push into the change of a table, and keeps the table.

A *keyed* table takes upserts and deletes by key: it looks the old row up and emits ``- old + new``. A
*keyless* table is a multiset: it takes rows with weights and refuses to delete what it does not hold.
Both keep their rows arranged by key (a keyless table: by the row itself), so a join on the key can share
the arrangement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.keyed import add_weights, first_of_keys, settle
from penstock.circuit.operator import Flow, Incremental, Operator, State, WordsOf, operator
from penstock.errors import DuplicateKey, MissingRow
from penstock.trace import (
    Batch,
    KeyWords,
    build_batch,
    lookup_rows,
    lookup_sums,
    merge_batches,
    order_words,
    sum_of,
)
from penstock.zset import Hashes, HashSeed, ZSet, gather, hash_columns, numbers

__all__ = ["Table"]


@operator("table", Incremental.SOURCE, state="the table's rows, by key")
@dataclass(frozen=True)
class Table(Operator):
    """Table ``name``; ``key`` are the positions of its primary key, empty for a keyless table.

    The input holds the pushed rows in push order, each with the hash of its key (or of itself). For a
    keyed table the weight says what to do: upsert, delete, or insert (an error if the key is there).
    """

    name: str
    key: tuple[int, ...]

    @property
    def routing(self) -> tuple[int, ...] | None:
        """By which columns pushed rows find their worker: the key, or all of them."""
        return self.key or tuple(range(len(self.schema)))

    @property
    def opens(self) -> bool:
        return True

    @property
    def arranged(self) -> bool:
        return True

    @property
    def slots(self) -> int:
        return 1

    def idle(self, state: State) -> Arranged:
        return Arranged(self.schema, self._empty, state.before(0))

    def step(self, inputs: Sequence[Flow], state: State) -> Arranged:
        if state.opening:
            return self._contents(state)
        delta = inputs[0]
        assert isinstance(delta, Delta)
        batch = self._apply_keyed(delta, state) if self.key else self._apply_multiset(delta, state)
        state.stage(0, batch)
        return Arranged(self.schema, batch, state.before(0))

    def _contents(self, state: State) -> Arranged:
        stored = state.stored(0)
        batch = merge_batches(stored) if stored else self._empty
        return Arranged(self.schema, batch, ())

    def _apply_multiset(self, delta: Delta, state: State) -> Batch:
        assert delta.keys is not None
        zset = delta.zset
        batch = build_batch(delta.keys.hi, delta.keys.lo, None, zset.weights, zset.columns)
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
        keys, zset = delta.keys, delta.zset
        assert keys is not None
        perm = np.lexsort((keys.lo, keys.hi))  # stable: operations on one key stay in push order
        start = np.empty(len(perm), np.int64)
        start = start[: first_of_keys(perm, keys.hi, keys.lo, start)]
        held, old = self._held(keys.take(perm[start]), state)
        final, told = np.empty(len(start), np.int64), np.empty(2, np.int64)
        final = final[: settle(perm, start, zset.weights, held, final, told)]
        absent, clash = told.tolist()
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
        """Which keys the table holds, and the rows to retract, with negated weights and in no order.

        Batches cancel out across the spine, so both are sums: a key is held if its weights sum to one."""
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

    @cached_property
    def _empty(self) -> Batch:
        none = np.empty(0, np.uint64)
        row_lo = none if self.key else None
        return Batch(none, none, row_lo, np.empty(0, np.int64), ZSet.empty(self.schema).columns)

    def describe(self) -> str:
        if not self.key:
            return self.name
        return f"{self.name} by {', '.join(self.schema.names[i] for i in self.key)}"
