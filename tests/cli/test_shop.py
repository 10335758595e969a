"""The demo's shop must make sense: no order without its customer, no line without its order."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.cli.demo.shop import KEYS, Changes, Shop


def _apply(tables: dict[str, dict[tuple[object, ...], dict[str, object]]], changes: Changes) -> None:
    """Upserts before deletes, the way the demo pushes them; keeps whole rows by key."""
    for name, rows in changes.upserts.items():
        for row in rows.to_pylist():
            tables[name][tuple(row[column] for column in KEYS[name])] = row
    for name, keys in changes.deletes.items():
        for row in keys.to_pylist():
            del tables[name][tuple(row[column] for column in KEYS[name])]


@pytest.fixture
def shop() -> Shop:
    shop = Shop.empty()
    shop.open(200)
    return shop


def test_pushed_changes_add_up_to_what_the_shop_thinks_it_holds() -> None:
    shop = Shop.empty()
    tables: dict[str, dict[tuple[object, ...], dict[str, object]]] = {name: {} for name in KEYS}
    _apply(tables, shop.open(100))
    for number in range(2, 60):
        _apply(tables, shop.step(number))
    for name in KEYS:
        assert sorted(map(str, tables[name].values())) == sorted(map(str, shop.table(name).to_pylist()))


def test_references_hold_after_every_step(shop: Shop) -> None:
    for number in range(2, 40):
        shop.step(number)
        orders, lines = shop.table("orders"), shop.table("order_lines")
        for child, column, parent in (
            (orders, "customer_id", shop.table("customers")),
            (lines, "order_id", orders),
            (lines, "product_id", shop.table("products")),
        ):
            assert pc.all(pc.is_in(child[column], value_set=parent["id"])).as_py(), f"step {number}: {column}"


def test_steps_insert_update_and_delete(shop: Shop) -> None:
    known = set(shop.table("orders")["id"].to_pylist())
    inserted = updated = deleted = 0
    for number in range(2, 30):
        changes = shop.step(number)
        ids = set(changes.upserts["orders"]["id"].to_pylist())
        inserted, updated = inserted + len(ids - known), updated + len(ids & known)
        deleted += changes.deletes["orders"].num_rows if "orders" in changes.deletes else 0
        known |= ids
    assert min(inserted, updated, deleted) > 20


def test_the_same_tables_seed_and_step_give_the_same_changes(shop: Shop) -> None:
    for number in range(2, 20):
        shop.step(number)
    reopened = Shop({name: _shuffled(shop.table(name)) for name in KEYS})
    for number in range(20, 25):
        first, second = shop.step(number), reopened.step(number)
        assert first.upserts.keys() == second.upserts.keys()
        assert all(first.upserts[name].equals(second.upserts[name]) for name in first.upserts)
        assert all(first.deletes[name].equals(second.deletes[name]) for name in first.deletes)


def _shuffled(table: pa.Table) -> pa.Table:
    """A pipeline gives a table's rows back in an order of its own."""
    return table.take(pa.array(reversed(range(table.num_rows)), pa.int64()))


def test_new_ids_are_never_those_of_rows_that_are_there(shop: Shop) -> None:
    highest = pc.max(shop.table("orders")["id"]).as_py()
    reopened = Shop({name: shop.table(name) for name in KEYS}, seed=99)
    fresh = [i for i in reopened.step(3).upserts["orders"]["id"].to_pylist() if i > highest]
    assert fresh == list(range(highest + 1, highest + 1 + len(fresh)))


def test_a_step_never_upserts_and_deletes_the_same_row(shop: Shop) -> None:
    for number in range(2, 60):
        changes = shop.step(number)
        for name in changes.upserts.keys() & changes.deletes.keys():
            key = list(KEYS[name])
            put = {tuple(row.values()) for row in changes.upserts[name].select(key).to_pylist()}
            gone = {tuple(row.values()) for row in changes.deletes[name].to_pylist()}
            assert not put & gone
