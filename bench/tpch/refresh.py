"""The refresh stream: what happens to the tables of TPC-H from step to step.

Each step brings new orders with their lines, deletes orders with their lines, replaces orders (other lines,
other prices), and updates customers, parts, suppliers and the prices they ask. Some of the orders deleted by
a step come back under the same key in the next. Only keys are remembered here, never rows, so a step costs
what it changes plus one pass over the order keys. The same seed gives the same stream.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bench.tpch import rows
from bench.tpch.data import as_batch
from penstock.oracle import Change, Step
from penstock.pipeline.tables import TableSchema

__all__ = ["Refresh", "first_load"]


def first_load(contents: Mapping[str, pa.RecordBatch]) -> Step:
    """The step that fills the tables."""
    return tuple(Change(name, "insert", batch) for name, batch in contents.items())


class Refresh:
    """Makes refresh steps. ``share`` is the part of all orders that a step inserts, and again deletes."""

    def __init__(
        self,
        tables: list[TableSchema],
        contents: Mapping[str, pa.RecordBatch],
        *,
        seed: int,
        share: float = 0.005,
    ) -> None:
        self._tables = {table.name: table for table in tables}
        self._rng = np.random.default_rng(seed)
        self._customers = _ints(contents, "customer", "c_custkey")
        self._suppliers = _ints(contents, "supplier", "s_suppkey")
        self._parts = _ints(contents, "part", "p_partkey")
        self._offers = (
            _ints(contents, "partsupp", "ps_partkey"),
            _ints(contents, "partsupp", "ps_suppkey"),
        )
        self._orders, self._lines = np.unique(_ints(contents, "lineitem", "l_orderkey"), return_counts=True)
        self._next_key = int(self._orders.max()) + 1
        self._gone = np.array([], np.int64)
        self._size = max(4, round(share * len(self._orders)))

    def step(self) -> Step:
        """The next step."""
        deleted = self._delete_orders(self._size)
        replaced = self._replace_orders()
        added = self._add_orders(self._size)
        return (*deleted, *replaced, *added, *self._update_others())

    def orders_only(self, share: float) -> Step:
        """A step in which that share of the orders changes with their lines: half are new, half deleted."""
        size = max(1, round(share * len(self._orders) / 2))
        deleted = self._delete_orders(size)
        self._back = np.array([], np.int64)
        return (*deleted, *self._add_orders(size))

    def _delete_orders(self, size: int) -> list[Change]:
        chosen = self._some(len(self._orders), size)
        keys, lines = self._orders[chosen], self._lines[chosen]
        self._orders, self._lines = np.delete(self._orders, chosen), np.delete(self._lines, chosen)
        self._back, self._gone = self._gone, keys[: len(keys) // 3]
        numbers = np.arange(lines.sum()) - np.repeat(np.cumsum(lines) - lines, lines) + 1
        return [
            self._keys("orders", keys),
            self._keys("lineitem", np.repeat(keys, lines), numbers),
        ]

    def _replace_orders(self) -> list[Change]:
        """Orders keep their key and number of lines; everything else is new."""
        chosen = self._some(len(self._orders), max(1, self._size // 4))
        return self._write_orders("upsert", self._orders[chosen], self._lines[chosen])

    def _add_orders(self, size: int) -> list[Change]:
        fresh = self._next_key + np.arange(size)
        self._next_key += size
        keys = np.concatenate((self._back, fresh))
        lines = rows.line_counts(self._rng, len(keys))
        self._orders = np.concatenate((self._orders, keys))
        self._lines = np.concatenate((self._lines, lines))
        return self._write_orders("insert", keys, lines)

    def _write_orders(self, operation: str, keys: rows.Ints, lines: rows.Ints) -> list[Change]:
        made = rows.orders(self._rng, keys, lines, self._customers, self._offers)
        return [
            self._change(table, operation, columns)
            for table, columns in zip(("orders", "lineitem"), made, strict=True)
        ]

    def _update_others(self) -> list[Change]:
        few = max(2, self._size // 3)
        offers = self._some(len(self._offers[0]), 2 * few)
        customers, parts, suppliers = (
            keys[self._some(len(keys), count)]
            for keys, count in ((self._customers, few), (self._parts, few), (self._suppliers, 1))
        )
        asked = rows.partsupps(self._rng, self._offers[0][offers], self._offers[1][offers])
        return [
            self._change("customer", "upsert", rows.customers(self._rng, customers)),
            self._change("part", "upsert", rows.parts(self._rng, parts)),
            self._change("supplier", "upsert", rows.suppliers(self._rng, suppliers)),
            self._change("partsupp", "upsert", asked),
        ]

    def _some(self, size: int, count: int) -> rows.Ints:
        return self._rng.choice(size, min(count, size), replace=False)

    def _change(self, table: str, operation: str, columns: rows.Columns) -> Change:
        return Change(table, operation, as_batch(self._tables[table], columns))

    def _keys(self, table: str, *columns: rows.Ints) -> Change:
        schema = self._tables[table].key_table.arrow_schema
        arrays = [pa.array(values).cast(field.type) for values, field in zip(columns, schema, strict=True)]
        return Change(table, "delete", pa.RecordBatch.from_arrays(arrays, schema=schema))


def _ints(contents: Mapping[str, pa.RecordBatch], table: str, column: str) -> rows.Ints:
    return contents[table].column(column).to_numpy()
