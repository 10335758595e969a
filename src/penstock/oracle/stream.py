"""Random change streams: the life of some tables, compressed into a few steps.

The same seed gives the same stream (with the same NumPy). Each step holds some changes, in order: rows
inserted, updated, deleted, put back as they were, and in keyless tables copied and counted down; sometimes
the same row twice within one step, because the end of a step is all that may be seen. Among the steps are
empty ones, one huge one whose rows go away again, and one after which a table is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.oracle.generate import Profile, random_rows
from penstock.oracle.model import Change, Model, Operation, Step
from penstock.pipeline.ingest import to_batch, to_keys
from penstock.pipeline.tables import TableSchema

__all__ = ["make_stream", "steps_from"]

_EMPTY_EVERY = 8
_HUGE_FACTOR = 12


def make_stream(
    tables: Sequence[TableSchema],
    steps: int,
    seed: int,
    *,
    profile: Profile | None = None,
    rows: int = 8,
    huge: int = 250,
) -> list[Step]:
    """A stream of ``steps`` steps, each with some changes of up to ``rows`` rows per table.

    One step pushes ``huge`` rows into every table, of many more distinct values than usual, and the step
    after it deletes most of them.
    """
    return _Story(tables, seed, profile or Profile(), rows, huge).tell(steps)


def steps_from(
    tables: Sequence[TableSchema], steps: Sequence[Sequence[tuple[str, Operation, list[dict[str, Any]]]]]
) -> list[Step]:
    """Steps written by hand: ``[[("t", "insert", [{"a": 1}])], …]``. Times without a zone are UTC."""
    by_name = {table.name: table for table in tables}

    def change(name: str, operation: Operation, rows: list[dict[str, Any]]) -> Change:
        table = by_name[name]
        take = to_keys if operation == "delete" and table.keyed else to_batch
        return Change(name, operation, take(table, rows))

    return [tuple(change(*given) for given in step) for step in steps]


class _Story:
    def __init__(
        self, tables: Sequence[TableSchema], seed: int, profile: Profile, rows: int, huge: int
    ) -> None:
        self.tables, self.profile, self.rows, self.huge = tables, profile, rows, huge
        self.rng = np.random.default_rng(seed)
        self.model = Model(tables)
        self.gone: dict[str, pa.Table] = {}  # what was deleted last, to be put back
        self.kinds: dict[bool, list[Callable[[TableSchema], list[Change]]]] = {
            True: [self._upsert, self._upsert, self._update, self._delete, self._put_back, self._absent],
            False: [self._insert, self._insert, self._copy, self._delete, self._put_back, self._in_and_out],
        }

    def tell(self, steps: int) -> list[Step]:
        huge_at, clear_at = (steps * 3) // 5, (steps * 4) // 5
        stream = []
        for number in range(steps):
            if number == 0:
                changes = [change for table in self.tables for change in self._fill(table)]
            elif number == huge_at:
                changes = [self._many(table) for table in self.tables]
            elif number == huge_at + 1:
                changes = [change for table in self.tables for change in self._thin_out(table)]
            elif number == clear_at:
                changes = self._take(self._pick(), 1.0)
            elif number % _EMPTY_EVERY == _EMPTY_EVERY - 3:
                changes = []
            else:
                changes = self._some()
            stream.append(self.model.apply(tuple(changes)))
        return stream

    def _pick(self) -> TableSchema:
        return self.tables[int(self.rng.integers(len(self.tables)))]

    def _count(self) -> int:
        return int(self.rng.integers(1, self.rows + 1))

    def _some(self) -> list[Change]:
        changes = []
        for _ in range(int(self.rng.integers(1, len(self.tables) + 2))):
            table = self._pick()
            kinds = self.kinds[table.keyed]
            changes += kinds[int(self.rng.integers(len(kinds)))](table)
        return changes

    def _fresh(self, table: TableSchema, count: int) -> pa.RecordBatch:
        return random_rows(table, self.rng, count, self.profile)

    def _held(self, table: TableSchema, count: int) -> pa.Table:
        """Some rows the table held at the start of the step."""
        contents = self.model.contents(table.name)
        chosen = self.rng.permutation(len(contents))[:count]
        return contents.take(pa.array(chosen, pa.int64()))

    def _fill(self, table: TableSchema) -> list[Change]:
        rows = self._fresh(table, 3 * self.rows)
        return [Change(table.name, "upsert" if table.keyed else "insert", rows)]

    def _many(self, table: TableSchema) -> Change:
        rows = random_rows(table, self.rng, self.huge, self.profile.widened(_HUGE_FACTOR))
        return Change(table.name, "insert", rows)

    def _thin_out(self, table: TableSchema) -> list[Change]:
        return self._take(table, max(0.0, 1 - 3 * self.rows / max(1, self.model.size(table.name))))

    def _take(self, table: TableSchema, share: float) -> list[Change]:
        rows = _batch(self._held(table, round(share * self.model.size(table.name))))
        if table.keyed and self.rng.random() < 0.5:
            rows = rows.select(list(table.primary_key))
        return [Change(table.name, "delete", rows)]

    def _insert(self, table: TableSchema) -> list[Change]:
        return [Change(table.name, "insert", self._fresh(table, self._count()))]

    def _upsert(self, table: TableSchema) -> list[Change]:
        rows = self._fresh(table, self._count())
        return [Change(table.name, "insert" if self.rng.random() < 0.3 else "upsert", rows)]

    def _update(self, table: TableSchema) -> list[Change]:
        """New values under keys that are there."""
        held = _batch(self._held(table, self._count()))
        rows = self._fresh(table, len(held))
        columns = [held if name in table.primary_key else rows for name in table.schema.names]
        arrays = [source.column(name) for source, name in zip(columns, table.schema.names, strict=True)]
        return [Change(table.name, "upsert", pa.RecordBatch.from_arrays(arrays, schema=table.arrow_schema))]

    def _delete(self, table: TableSchema) -> list[Change]:
        held = self._held(table, self._count())
        self.gone[table.name] = held
        rows = _batch(held)
        if table.keyed and self.rng.random() < 0.5:
            rows = rows.select(list(table.primary_key))
        return [Change(table.name, "delete", rows)]

    def _put_back(self, table: TableSchema) -> list[Change]:
        """What was deleted last, as it was."""
        gone = self.gone.pop(table.name, None)
        if gone is None:
            return self._delete(table)
        return [Change(table.name, "upsert" if table.keyed else "insert", _batch(gone))]

    def _absent(self, table: TableSchema) -> list[Change]:
        """Deletes of keys of which few are there, and an update and a delete of one key in one step."""
        keys = self._fresh(table, self._count()).select(list(table.primary_key))
        again = self._fresh(table, 2)
        return [
            Change(table.name, "delete", keys),
            Change(table.name, "upsert", again),
            Change(table.name, "delete", again.select(list(table.primary_key)).slice(1)),
        ]

    def _copy(self, table: TableSchema) -> list[Change]:
        """More copies of rows that are there: a multiset counts them."""
        held = _batch(self._held(table, self._count()))
        return [Change(table.name, "insert", pa.concat_batches([held, held.slice(0, 1)]))]

    def _in_and_out(self, table: TableSchema) -> list[Change]:
        """Rows that come and go within the step, and leave no trace."""
        rows = self._fresh(table, self._count())
        return [Change(table.name, "insert", rows), Change(table.name, "delete", rows)]


def _batch(table: pa.Table) -> pa.RecordBatch:
    [batch] = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    return batch
