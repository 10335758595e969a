"""The random life of the demo's shop: rows to start with, then a little of everything in every step.

Changes always make sense: an order belongs to a customer that exists, its lines to products that exist, and
when an order goes, its lines go with it. The shop holds a copy of the tables, so it can be put up again from
whatever a pipeline holds; a step's changes depend on nothing but the tables, the seed and the step number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

__all__ = ["KEYS", "Changes", "Shop"]

KEYS: Mapping[str, tuple[str, ...]] = {
    "customers": ("id",),
    "products": ("id",),
    "orders": ("id",),
    "order_lines": ("order_id", "line"),
}
_SCHEMAS: Mapping[str, pa.Schema] = {
    "customers": pa.schema([("id", "int64"), ("name", "string"), ("city", "string"), ("tier", "string")]),
    "products": pa.schema(
        [("id", "int64"), ("name", "string"), ("category", "string"), ("price", pa.decimal128(10, 2))]
    ),
    "orders": pa.schema(
        [
            ("id", "int64"),
            ("customer_id", "int64"),
            ("status", "string"),
            ("placed_at", pa.timestamp("us", "UTC")),
        ]
    ),
    "order_lines": pa.schema(
        [("order_id", "int64"), ("line", "int32"), ("product_id", "int64"), ("quantity", "int32")]
    ),
}
_CITIES = (
    "Basel",
    "Bergen",
    "Cork",
    "Delft",
    "Évora",
    "Ghent",
    "Kraków",
    "Lucca",
    "Nantes",
    "Turku",
    "Uppsala",
)
_TIERS = ("bronze", "silver", "gold")
_CATEGORIES = ("books", "garden", "kitchen", "music", "office", "toys")
_THINGS = (
    "atlas",
    "basket",
    "clock",
    "drum",
    "easel",
    "flute",
    "globe",
    "hammock",
    "kettle",
    "lamp",
    "mirror",
)
_FIRST = ("Ada", "Blaise", "Chiara", "Dag", "Emmy", "Farid", "Grace", "Hedy", "Ivo", "Jun", "Katya", "Lars")
_LAST = ("Abel", "Bohr", "Curie", "Duse", "Euler", "Fermi", "Gödel", "Hopper", "Ito", "Joule", "Klein", "Lu")
_STATUSES = ("new", "paid", "shipped", "delivered")
_NEXT_STATUS = {"new": "paid", "paid": "shipped", "shipped": "delivered"}
_LINES_MAX = 5
_OPENING = datetime(2026, 1, 1, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Changes:
    """What happens to the tables in one step: whole rows to upsert, keys to delete."""

    upserts: Mapping[str, pa.Table]
    deletes: Mapping[str, pa.Table]

    @property
    def rows(self) -> int:
        """How many rows of input this is."""
        return sum(table.num_rows for table in (*self.upserts.values(), *self.deletes.values()))


class Shop:
    """The shop's tables as data frames by key, and what may happen to them next."""

    def __init__(self, tables: Mapping[str, pa.Table], seed: int = 7) -> None:
        self._seed = seed
        self._frames = {name: _frame(name, tables[name]) for name in KEYS}

    @classmethod
    def empty(cls, seed: int = 7) -> Shop:
        """A shop on the day before it opens."""
        return cls({name: schema.empty_table() for name, schema in _SCHEMAS.items()}, seed)

    @property
    def rows(self) -> int:
        """How many rows all tables hold."""
        return sum(len(frame) for frame in self._frames.values())

    def table(self, name: str) -> pa.Table:
        """What the shop thinks a table holds."""
        return _arrow(name, self._frames[name])

    def open(self, orders: int) -> Changes:
        """The first step: products, customers and a number of orders."""
        rng = np.random.default_rng([self._seed, 0])
        day = _Day(rng, self._frames)
        day.add_products(max(12, orders // 40))
        day.add_customers(max(10, orders // 8))
        day.add_orders(orders, rng.choice(_STATUSES, orders, p=(0.1, 0.1, 0.1, 0.7)))
        return self._close(day)

    def step(self, number: int) -> Changes:
        """A little of everything."""
        rng = np.random.default_rng([self._seed, number])
        day = _Day(rng, self._frames)
        day.add_customers(int(rng.poisson(0.7)))
        day.add_orders(count := 1 + int(rng.poisson(5)), np.full(count, "new"))
        day.advance_orders(int(rng.poisson(17)))
        day.change_quantities(int(rng.poisson(3)))
        day.move_customers(int(rng.poisson(1)))
        day.change_prices(int(rng.poisson(0.3)))
        day.drop_orders(int(rng.poisson(5)))
        return self._close(day)

    def _close(self, day: _Day) -> Changes:
        """Book a day's changes into the frames, which stay sorted: order must not depend on history."""
        upserts, deletes = {}, {}
        for name in KEYS:
            if rows := day.upserts[name]:
                changed = pd.concat(rows)
                changed = changed[~changed.index.duplicated(keep="last")]
                # The rows of a dropped order may have been touched earlier the same day.
                changed = changed[~changed.index.isin(day.deletes[name])]
                kept = self._frames[name][~self._frames[name].index.isin(changed.index)]
                self._frames[name] = (pd.concat([kept, changed]) if len(kept) else changed).sort_index()
                upserts[name] = _arrow(name, changed)
            if len(day.deletes[name]):
                gone = self._frames[name].index.isin(day.deletes[name])
                deletes[name] = _arrow(name, self._frames[name][gone]).select(list(KEYS[name]))
                self._frames[name] = self._frames[name][~gone]
        return Changes(
            {name: table for name, table in upserts.items() if table.num_rows},
            {name: table for name, table in deletes.items() if table.num_rows},
        )


class _Day:
    """The changes of one step in the making; nothing is booked until the day closes."""

    def __init__(self, rng: np.random.Generator, frames: Mapping[str, pd.DataFrame]) -> None:
        self._rng, self._frames = rng, frames
        self.upserts: dict[str, list[pd.DataFrame]] = {name: [] for name in KEYS}
        self.deletes: dict[str, pd.Index[int]] = {name: frames[name].index[:0] for name in KEYS}

    def add_customers(self, count: int) -> None:
        """New people, somewhere."""
        ids = self._ids("customers", count)
        names = [f"{self._one(_FIRST)} {self._one(_LAST)}" for _ in range(count)]
        city, tier = self._rng.choice(_CITIES, count), self._rng.choice(_TIERS, count, p=(0.6, 0.3, 0.1))
        self._put("customers", {"id": ids, "name": names, "city": city, "tier": tier})

    def add_products(self, count: int) -> None:
        """New things to sell."""
        ids = self._ids("products", count)
        names = [f"{self._one(_THINGS)} no. {number}" for number in ids]
        prices = [Decimal(int(cents)).scaleb(-2) for cents in self._rng.integers(150, 20_000, count)]
        category = self._rng.choice(_CATEGORIES, count)
        self._put("products", {"id": ids, "name": names, "category": category, "price": prices})

    def add_orders(self, count: int, status: np.ndarray[tuple[int], np.dtype[np.str_]]) -> None:
        """New orders with a few lines each, from customers and for products known by now."""
        ids = self._ids("orders", count)
        placed = [_OPENING + timedelta(minutes=7 * int(number)) for number in ids]
        customer = self._rng.choice(self._known("customers"), count)
        self._put("orders", {"id": ids, "customer_id": customer, "status": status, "placed_at": placed})
        lines = self._rng.integers(1, _LINES_MAX + 1, count)
        total = int(lines.sum())
        first = np.repeat(np.cumsum(lines) - lines, lines)
        self._put(
            "order_lines",
            {
                "order_id": np.repeat(ids, lines),
                "line": (np.arange(total) - first + 1).astype(np.int32),
                "product_id": self._rng.choice(self._known("products"), total),
                "quantity": self._rng.integers(1, 10, total).astype(np.int32),
            },
        )

    def advance_orders(self, count: int) -> None:
        """Orders that are paid, shipped, delivered; now and then one is cancelled."""
        orders = self._frames["orders"]
        chosen = self._some(orders[orders["status"].isin(_NEXT_STATUS)], count)
        cancelled = self._rng.random(len(chosen)) < 0.08
        status = chosen["status"].map(_NEXT_STATUS).where(~cancelled, "cancelled")
        self._touch("orders", chosen.assign(status=status))

    def change_quantities(self, count: int) -> None:
        """Lines that somebody thought better of."""
        chosen = self._some(self._frames["order_lines"], count)
        quantity = self._rng.integers(1, 10, len(chosen)).astype(np.int32)
        self._touch("order_lines", chosen.assign(quantity=quantity))

    def move_customers(self, count: int) -> None:
        """Customers who now live elsewhere, and take their revenue with them."""
        chosen = self._some(self._frames["customers"], count)
        self._touch("customers", chosen.assign(city=self._rng.choice(_CITIES, len(chosen))))

    def change_prices(self, count: int) -> None:
        """New prices: one row in, every sale of that product out."""
        chosen = self._some(self._frames["products"], count)
        factors = self._rng.integers(80, 125, len(chosen))
        prices = [
            (price * int(factor) / 100).quantize(Decimal("0.01"))
            for price, factor in zip(chosen["price"], factors, strict=True)
        ]
        self._touch("products", chosen.assign(price=prices))

    def drop_orders(self, count: int) -> None:
        """Finished orders leave the books, and their lines with them."""
        orders, lines = self._frames["orders"], self._frames["order_lines"]
        chosen = self._some(orders[orders["status"].isin(("delivered", "cancelled"))], count)
        self.deletes["orders"] = chosen.index
        self.deletes["order_lines"] = lines.index[lines["order_id"].isin(chosen.index)]

    def _ids(self, name: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The next free ids, after the largest that is in use."""
        used = self._frames[name]["id"]
        first = 1 + (int(used.max()) if len(used) else 0)
        return np.arange(first, first + count, dtype=np.int64)

    def _known(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The ids in a table, those that came today included."""
        frames = [self._frames[name], *self.upserts[name]]
        return np.unique(np.concatenate([frame["id"].to_numpy(np.int64) for frame in frames]))

    def _some(self, frame: pd.DataFrame, count: int) -> pd.DataFrame:
        chosen = self._rng.choice(len(frame), size=min(count, len(frame)), replace=False)
        return frame.iloc[np.sort(chosen)]

    def _one(self, words: Sequence[str]) -> str:
        return words[int(self._rng.integers(len(words)))]

    def _put(self, name: str, columns: Mapping[str, object]) -> None:
        self._touch(name, _indexed(name, pd.DataFrame(dict(columns))))

    def _touch(self, name: str, rows: pd.DataFrame) -> None:
        # An empty frame has lost the types of its columns; it must not meet the others.
        if len(rows):
            self.upserts[name].append(rows)


def _frame(name: str, table: pa.Table) -> pd.DataFrame:
    return _indexed(name, table.select(_SCHEMAS[name].names).to_pandas()).sort_index()


def _indexed(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """One integer per key as the index: looking a pair of columns up is ten times slower."""
    if name == "order_lines":
        return frame.set_index(frame["order_id"] * (_LINES_MAX + 1) + frame["line"])
    return frame.set_index("id", drop=False)


def _arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame.reset_index(drop=True), schema=_SCHEMAS[name], preserve_index=False)
